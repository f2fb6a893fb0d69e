"""Views of a pipeline beside its graph: those whose content changes, and those of which only the head does."""

from collections.abc import Awaitable, Callable
from typing import Any, Final
from urllib.parse import urlencode

from fastapi import Request
from fastapi.responses import Response

from api.pages.frame.live import event_stream
from api.pages.frame.live_parts import Fragment
from api.pages.frame.responses import live_page
from api.pages.frame.templates import fragment
from api.pages.pipelines.head import TABS, address_of, head_of
from api.services import Services
from application.access import ProjectAccess
from models.notifications import pipeline_topic

PER_PAGE: Final = 100
"""Rows of a long list."""
_NAMES: Final = {tab.key: tab.text for tab in TABS}

Draw = Callable[[], Awaitable[Fragment]]


async def show(
    request: Request,
    project: ProjectAccess,
    pipeline_id: int,
    tab: str,
    live: Fragment,
    template: str = "pipelines/pipeline.html",
    **values: Any,
) -> Response:
    """The page of a view; `values` are for what is around its live part."""
    address = address_of(project, pipeline_id)
    return live_page(
        template,
        request,
        project.caller,
        live,
        f"{address}/{tab}/events",
        project=project.row,
        id=pipeline_id,
        tab_name=_NAMES[tab],
        address=address,
        **values,
    )


async def follow(
    request: Request, services: Services, project: ProjectAccess, pipeline_id: int, draw: Draw
) -> Response:
    """The changes of a view."""
    return await event_stream(request, services, project.caller, draw, pipeline_topic(pipeline_id))


async def draw_head(services: Services, project: ProjectAccess, pipeline_id: int, tab: str) -> Fragment:
    """The head alone, above a view that does not change by itself. Raises `NotFound`."""
    project, head = await head_of(services, project, pipeline_id)
    return fragment(
        "pipelines/_only_head.html",
        project=project.row,
        head=head,
        address=address_of(project, pipeline_id),
        tab=tab,
    )


def pages(total: int, size: int = PER_PAGE) -> int:
    """How many pages so many rows have."""
    return max(1, -(-total // size))


def query_of(**values: str | int) -> str:
    """A query that keeps what is not empty, for links to other pages of the same list; ends with `&` if not empty."""
    kept = {name: value for name, value in values.items() if value}
    return f"{urlencode(kept)}&" if kept else ""
