"""Markdown texts as HTML."""

from concurrent.futures.process import BrokenProcessPool
from functools import partial
from typing import Annotated, Final

from fastapi import Depends
from pydantic import Field
from typing_extensions import TypedDict

from api.deps import ServicesDep
from api.routes import RouteList
from api.v4.access import KnownCallerDep
from api.v4.parameters import Optionals, given
from application.configurations.compiler_pool import GivenUp, OutOfTime
from application.configurations.compiling import COMPILATIONS, PATIENCE
from application.configurations.pool_work import in_process
from application.texts.markdown import MAX_LENGTH, rendered
from domain.errors import Unavailable, Unprocessable
from git.turns import gone, turn_of

router = RouteList()


class MarkdownText(Optionals):
    """Parameters of `POST /markdown`. `project` is taken and changes nothing: there are no references to resolve."""

    text: str = Field(max_length=MAX_LENGTH)
    gfm: bool = False
    project: str = ""


class MarkdownResponse(TypedDict):
    """A text as HTML."""

    html: str


SECONDS: Final = 1.0
"""Of computing, for one text."""


@router.post("/markdown", status_code=201)
async def render_markdown(
    wanted: Annotated[MarkdownText, Depends(given(MarkdownText))], caller: KnownCallerDep, services: ServicesDep
) -> MarkdownResponse:
    """A text as HTML; with `gfm` as GitLab's own flavour, without references. HTML in it is escaped.

    In a process of the compilers: the text of somebody must not hold up everybody.
    """
    work = partial(rendered, wanted.text, gfm=wanted.gfm)
    async with turn_of(COMPILATIONS, f"user {caller.user_id}", "", PATIENCE):
        try:
            html, _ = await in_process(services.compilers, SECONDS, work)
        except OutOfTime:
            raise Unprocessable(
                f"It takes more than {SECONDS:g} s to render this text; ask for less at a time."
            ) from None
        except GivenUp as error:
            raise gone() from error
        except BrokenProcessPool as error:
            raise Unavailable("The process that renders texts died; try again.") from error
    return {"html": html}
