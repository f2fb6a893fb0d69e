"""Views of a pipeline beside its graph: those whose content changes, and those of which only the head does."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

from fastapi import Request
from fastapi.responses import Response

from api.deps import ServicesDep
from api.pages.frame.access import PageProjectDep
from api.pages.frame.live import event_stream
from api.pages.frame.live_parts import Fragment
from api.pages.frame.page_count import page_count
from api.pages.frame.responses import live_page
from api.pages.frame.templates import fragment
from api.pages.pipelines.head import TABS, address_of, head_of
from api.services import Services
from api.v4.access import Id
from application.access import ProjectAccess, access_to
from models.notifications import pipeline_topic
from models.repositories.pipelines import overview

PER_PAGE: Final = 100
"""Rows of a long list."""
AGAIN: Final = 10.0
"""Seconds after which a view is drawn again though nothing has moved."""
_NAMES: Final = {tab.key: tab.text for tab in TABS}
_PATHS: Final = {tab.key: tab.path for tab in TABS}

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
        f"{address}{_PATHS[tab]}/events",
        project=project.row,
        id=pipeline_id,
        tab_name=_NAMES[tab],
        address=address,
        **values,
    )


@dataclass
class Remembered:
    """A view as it was drawn last: as long as nothing has moved it is not drawn again, but for once in a while.

    What else may change it (runners that come and go, places in the queue, reports) shows after `AGAIN`
    seconds. Whether the reader may still see it is asked every time.
    """

    services: Services
    project: ProjectAccess
    pipeline_id: int
    draw: Draw
    mark: tuple[Any, ...] = ()
    fragment: Fragment | None = None
    drawn_at: float = 0.0

    async def __call__(self) -> Fragment:
        """The view as it is now. Raises `NotFound`."""
        await access_to(self.services, self.project.caller, self.project.row.id)
        async with self.services.database.read() as connection:
            mark = await overview.mark(connection, self.pipeline_id)
        now = time.monotonic()
        if self.fragment is None or mark != self.mark or now - self.drawn_at >= AGAIN:
            self.fragment = await self.draw()
            self.mark, self.drawn_at = mark, now
        return self.fragment


async def follow(
    request: Request, services: Services, project: ProjectAccess, pipeline_id: int, draw: Draw
) -> Response:
    """The changes of a view."""
    look = Remembered(services, project, pipeline_id, draw)
    return await event_stream(request, services, project.caller, look, pipeline_topic(pipeline_id))


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


def head_events(tab: str) -> Callable[..., Awaitable[Response]]:
    """The route for the changes of the head above a view that does not change by itself."""

    async def events(request: Request, pipeline_id: Id, services: ServicesDep, project: PageProjectDep) -> Response:
        """Changes of what is above that page."""
        return await follow(
            request, services, project, pipeline_id, lambda: draw_head(services, project, pipeline_id, tab)
        )

    return events


def pages(total: int, size: int = PER_PAGE) -> int:
    """How many pages so many rows have."""
    return page_count(total, size)


def query_of(**values: str | int) -> str:
    """A query that keeps what is not empty, for links to other pages of the same list; ends with `&` if not empty."""
    kept = {name: value for name, value in values.items() if value}
    return f"{urlencode(kept)}&" if kept else ""
