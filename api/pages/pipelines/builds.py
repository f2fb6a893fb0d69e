"""The jobs of a pipeline as a list: page by page, by state, stage and name; and those that failed."""

from typing import Annotated, Final

from fastapi import Query, Request
from fastapi.responses import Response

from api.deps import ServicesDep
from api.pages.frame.access import PREFIX, PageProjectDep
from api.pages.frame.live_parts import Fragment
from api.pages.frame.templates import fragment
from api.pages.pipelines.head import address_of, head_of
from api.pages.pipelines.tab import PER_PAGE, follow, pages, query_of, show
from api.pages.projects.home import Number
from api.routes import RouteList
from api.services import Services
from api.v4.access import Id
from application.access import ProjectAccess
from application.bridges.downstream_pipelines import downstream_of
from application.jobs.explaining import of_jobs
from domain.pipelines.status import Status
from models.repositories.paging import slice_of
from models.repositories.pipelines import overview, pipelines
from models.repositories.pipelines.overview import JobFilter

STATES: Final = tuple(status.value for status in Status)
MAX_TEXT: Final = 1_000

Word = Annotated[str, Query(max_length=MAX_TEXT)]

router = RouteList(prefix=f"{PREFIX}/-/pipelines/{{pipeline_id}}")


def chosen(state: str, stage: str, name: str) -> JobFilter:
    """The jobs that a reader wants to see; a state that is none narrows nothing."""
    return JobFilter((Status(state),) if state in STATES else (), stage, name)


async def draw(
    services: Services, project: ProjectAccess, pipeline_id: int, wanted: JobFilter, number: int
) -> Fragment:
    """A page of the list as it is now. Raises `NotFound`."""
    project, head = await head_of(services, project, pipeline_id)
    async with services.database.read() as connection:
        found = await slice_of(connection, overview.listed(pipeline_id, wanted), number, PER_PAGE)
        stages = await pipelines.stages_of(connection, pipeline_id)
    state = next(iter(wanted.statuses), "")
    return fragment(
        "pipelines/_builds.html",
        project=project.row,
        head=head,
        address=address_of(project, pipeline_id),
        tab="builds",
        jobs=found.rows,
        total=found.total,
        whys=await of_jobs(services, project, head.row, found.rows),
        downstream=await downstream_of(services, project.caller, found.rows),
        number=number,
        last=pages(found.total),
        query=query_of(state=state, stage=wanted.stage, name=wanted.name),
        wanted=wanted,
        state=state,
        states=STATES,
        stages=[stage.name for stage in stages],
    )


async def draw_failures(services: Services, project: ProjectAccess, pipeline_id: int, number: int) -> Fragment:
    """A page of the failed jobs, with why. Raises `NotFound`."""
    project, head = await head_of(services, project, pipeline_id)
    failed = JobFilter((Status.FAILED,))
    async with services.database.read() as connection:
        found = await slice_of(connection, overview.listed(pipeline_id, failed), number, PER_PAGE)
    return fragment(
        "pipelines/_failures.html",
        project=project.row,
        head=head,
        address=address_of(project, pipeline_id),
        tab="failures",
        jobs=found.rows,
        total=found.total,
        whys=await of_jobs(services, project, head.row, found.rows),
        number=number,
        last=pages(found.total),
    )


@router.get("/builds")
async def builds_page(
    request: Request,
    pipeline_id: Id,
    services: ServicesDep,
    project: PageProjectDep,
    state: Word = "",
    stage: Word = "",
    name: Word = "",
    page: Number = 1,
) -> Response:
    """The jobs."""
    live = await draw(services, project, pipeline_id, chosen(state, stage, name), page)
    return await show(request, project, pipeline_id, "builds", live)


@router.get("/builds/events")
async def builds_events(
    request: Request,
    pipeline_id: Id,
    services: ServicesDep,
    project: PageProjectDep,
    state: Word = "",
    stage: Word = "",
    name: Word = "",
    page: Number = 1,
) -> Response:
    """Changes of that page."""
    wanted = chosen(state, stage, name)
    return await follow(
        request, services, project, pipeline_id, lambda: draw(services, project, pipeline_id, wanted, page)
    )


@router.get("/failures")
async def failures_page(
    request: Request, pipeline_id: Id, services: ServicesDep, project: PageProjectDep, page: Number = 1
) -> Response:
    """The jobs that failed, and why."""
    live = await draw_failures(services, project, pipeline_id, page)
    return await show(request, project, pipeline_id, "failures", live)


@router.get("/failures/events")
async def failures_events(
    request: Request, pipeline_id: Id, services: ServicesDep, project: PageProjectDep, page: Number = 1
) -> Response:
    """Changes of that page."""
    return await follow(
        request, services, project, pipeline_id, lambda: draw_failures(services, project, pipeline_id, page)
    )
