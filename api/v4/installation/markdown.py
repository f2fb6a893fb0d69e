"""Markdown texts as HTML."""

import asyncio
from typing import Annotated

from fastapi import Depends
from pydantic import Field
from typing_extensions import TypedDict

from api.deps import ServicesDep
from api.markdown import MAX_LENGTH, rendered
from api.routes import RouteList
from api.v4.access import KnownCallerDep
from api.v4.parameters import Optionals, given
from application.configurations.compiling import COMPILATIONS, PATIENCE
from git.turns import turn_of

router = RouteList()


class MarkdownText(Optionals):
    """Parameters of `POST /markdown`. `project` is taken and changes nothing: there are no references to resolve."""

    text: str = Field(max_length=MAX_LENGTH)
    gfm: bool = False
    project: str = ""


class MarkdownResponse(TypedDict):
    """A text as HTML."""

    html: str


@router.post("/markdown", status_code=201)
async def render_markdown(
    wanted: Annotated[MarkdownText, Depends(given(MarkdownText))], caller: KnownCallerDep, services: ServicesDep
) -> MarkdownResponse:
    """A text as HTML; with `gfm` as GitLab's own flavour, without references. HTML in it is escaped.

    In a process of the compilers: the text of somebody must not hold up everybody.
    """
    async with turn_of(COMPILATIONS, f"user {caller.user_id}", "", PATIENCE):
        html = await asyncio.wrap_future(services.compilers.submit(rendered, wanted.text, gfm=wanted.gfm))
    return {"html": html}
