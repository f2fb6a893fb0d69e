"""The pipelines of a project: page by page, by ref, state, source and person."""

from dataclasses import dataclass
from typing import Annotated, Any, Final

from fastapi import Query, Request
from fastapi.responses import Response

from api.deps import ServicesDep
from api.pages.frame.access import PREFIX, PageProjectDep
from api.pages.frame.live import event_stream
from api.pages.frame.live_parts import Fragment
from api.pages.frame.responses import live_page
from api.pages.frame.templates import fragment
from api.pages.pipelines.tab import pages, query_of
from api.pages.projects.home import Number
from api.routes import RouteList
from api.services import Services
from application.access import ProjectAccess, access_to
from auth.permissions import Action
from domain.errors import NotFound
from domain.pipelines.status import Status
from domain.projects.ref_names import HEADS
from models.notifications import project_topic
from models.repositories.accounts import accounts
from models.repositories.paging import Slice, slice_of
from models.repositories.pipelines import overview
from models.repositories.projects import relations
from models.repositories.projects.listings import PipelineFilter
from models.repositories.projects.listings import pipelines as listed
from models.rows.pipelines import PipelineRow

PER_PAGE: Final = 30
STATES: Final = tuple(status.value for status in Status)
SOURCES: Final = (
    "push",
    "web",
    "merge_request_event",
    "schedule",
    "trigger",
    "api",
    "pipeline",
    "parent_pipeline",
    "external_pull_request_event",
)
"""What a reader may narrow the list to."""

Word = Annotated[str, Query(max_length=1_000)]

router = RouteList(prefix=PREFIX)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which pipelines; empty fields do not narrow."""

    ref: str = ""
    status: str = ""
    source: str = ""
    username: str = ""

    @property
    def is_narrow(self) -> bool:
        """Whether it leaves anything out."""
        return bool(self.ref or self.status or self.source or self.username)


async def draw_list(services: Services, project: ProjectAccess, number: int, wanted: Wanted) -> Fragment:
    """The list of a project's pipelines, as the caller may see it now."""
    project = await access_to(services, project.caller, project.row.id)
    async with services.database.read() as connection:
        equal: dict[str, Any] = {
            name: getattr(wanted, name) for name in ("ref", "status", "source") if getattr(wanted, name)
        }
        person = await accounts.by_username(connection, wanted.username) if wanted.username else None
        if person is not None:
            equal["user_id"] = person.id
        found: Slice[PipelineRow] = Slice((), 0)
        if person is not None or not wanted.username:
            found = await slice_of(connection, listed(project.row.id, PipelineFilter(equal)), number, PER_PAGE)
        people = await relations.users(connection, (row.user_id for row in found.rows))
        ids = [row.id for row in found.rows]
        stages = await overview.stages_of(connection, ids)
    return fragment(
        "pipelines/_pipelines.html",
        project=project.row,
        pipelines=found.rows,
        stages=stages,
        people=people,
        number=number,
        last=pages(found.total, PER_PAGE),
        query=query_of(ref=wanted.ref, status=wanted.status, source=wanted.source, username=wanted.username),
        wanted=wanted,
        url=services.settings.url,
    )


@router.get("")
@router.get("/-/pipelines")
async def project_page(
    request: Request,
    services: ServicesDep,
    project: PageProjectDep,
    ref: Word = "",
    status: Word = "",
    source: Word = "",
    username: Word = "",
    page: Number = 1,
) -> Response:
    """The pipelines of a project."""
    wanted = Wanted(ref, status, source, username)
    live = await draw_list(services, project, page, wanted)
    return live_page(
        "pipelines/pipelines.html",
        request,
        project.caller,
        live,
        f"/{project.row.full_path}/-/pipelines/events",
        project=project.row,
        url=services.settings.url,
        runs=project.may(Action.RUN),
        administers=project.may(Action.ADMINISTER),
        has_files=await _has_files(services, project),
        wanted=wanted,
        states=STATES,
        sources=SOURCES,
    )


async def _has_files(services: Services, project: ProjectAccess) -> bool:
    """Whether anybody has pushed the default branch."""
    try:
        repository = services.repositories.get(project.row.id)
    except NotFound:
        return False
    return (
        bool(project.row.default_branch)
        and await repository.resolve(f"{HEADS}{project.row.default_branch}") is not None
    )


@router.get("/-/pipelines/events")
async def project_events(
    request: Request,
    services: ServicesDep,
    project: PageProjectDep,
    ref: Word = "",
    status: Word = "",
    source: Word = "",
    username: Word = "",
    page: Number = 1,
) -> Response:
    """Changes of that list."""
    wanted = Wanted(ref, status, source, username)
    return await event_stream(
        request,
        services,
        project.caller,
        lambda: draw_list(services, project, page, wanted),
        project_topic(project.row.id),
    )
