"""Pages of pipelines: the list of a project, and one with its stages and jobs."""

from dataclasses import dataclass
from typing import Any, Final

from fastapi import Depends, Request
from fastapi.responses import Response

from api.deps import ServicesDep
from api.pages.frame.access import PREFIX, PageProjectDep
from api.pages.frame.asking import after
from api.pages.frame.live import event_stream
from api.pages.frame.live_parts import Fragment
from api.pages.frame.responses import live_page
from api.pages.frame.templates import fragment
from api.pages.projects.home import Number
from api.routes import RouteList
from api.services import Services
from api.v4.access import Id
from api.v4.asking import ask_or_leave
from api.v4.origin import require_our_pages
from api.v4.representation.pipelines import page_of
from application.access import ProjectAccess, access_to
from application.bridges.downstream_pipelines import downstream_of, upstream_elsewhere, visible
from application.jobs.explaining import absent_jobs
from auth.permissions import LEVEL_FOR, Action
from domain.messages import Operation
from domain.pipelines.coverage import average
from domain.pipelines.operations import CANCELABLE
from domain.pipelines.status import Status
from models.notifications import pipeline_topic, project_topic
from models.repositories.accounts import accounts
from models.repositories.artifacts import reports
from models.repositories.logs import coverage
from models.repositories.paging import slice_of
from models.repositories.pipelines import jobs, pipelines
from models.repositories.projects import relations
from models.repositories.projects.listings import PipelineFilter
from models.repositories.projects.listings import pipelines as listed
from models.repositories.queue import wait_reasons

PER_PAGE: Final = 30

router = RouteList(prefix=PREFIX)


@dataclass(frozen=True, slots=True)
class Column:
    """A stage with its jobs: the latest attempt of each, and how many there were before."""

    name: str
    status: str
    jobs: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Tests:
    """How many tests the reports of a pipeline name, and how many of them fail."""

    total: int
    failing: int


def may_cancel(project: ProjectAccess) -> bool:
    """Whether the caller sees what starts or ends something; on which refs they may do it is told when they try."""
    return project.caller.is_known and project.level >= LEVEL_FOR[Action.RUN]


async def draw_list(services: Services, project: ProjectAccess, number: int) -> Fragment:
    """The list of a project's pipelines, as the caller may see it now."""
    project = await access_to(services, project.caller, project.row.id)
    async with services.database.read() as connection:
        statement = listed(project.row.id, PipelineFilter({}))
        found = await slice_of(connection, statement, number, PER_PAGE)
        people = await relations.users(connection, (row.user_id for row in found.rows))
        warned = await jobs.warned(connection, (row.id for row in found.rows))
    return fragment(
        "pipelines/_pipelines.html",
        project=project.row,
        pipelines=found.rows,
        people=people,
        warned=warned,
        number=number,
        last=max(1, -(-found.total // PER_PAGE)),
        url=services.settings.url,
    )


@router.get("")
@router.get("/-/pipelines")
async def project_page(request: Request, services: ServicesDep, project: PageProjectDep, page: Number = 1) -> Response:
    """The pipelines of a project."""
    live = await draw_list(services, project, page)
    events = f"/{project.row.full_path}/-/pipelines/events"
    return live_page(
        "projects/project.html",
        request,
        project.caller,
        live,
        events,
        project=project.row,
        url=services.settings.url,
        runs=may_cancel(project),
    )


@router.get("/-/pipelines/events")
async def project_events(
    request: Request, services: ServicesDep, project: PageProjectDep, page: Number = 1
) -> Response:
    """Changes of that list."""
    topic = project_topic(project.row.id)
    return await event_stream(request, services, project.caller, lambda: draw_list(services, project, page), topic)


async def draw_pipeline(services: Services, project: ProjectAccess, pipeline_id: int) -> Fragment:
    """One pipeline as it is now. Raises `NotFound`."""
    project = await access_to(services, project.caller, project.row.id)
    async with services.database.read() as connection:
        row = await pipelines.get(connection, pipeline_id, project.row.id)
        stages = await pipelines.stages_of(connection, pipeline_id)
        attempts = await jobs.in_order(connection, pipeline_id)
        user = await accounts.get(connection, row.user_id)
        latest = [job for job in attempts if not job.retried]
        standing = await wait_reasons.of_jobs(connection, latest, services.clock(), services.settings.times)
        suites = await reports.tests_of(connection, pipeline_id, cases=False)
        covered = average(await coverage.of_pipeline(connection, pipeline_id))
    downstream = await downstream_of(services, project.caller, latest)
    upstream = await visible(services, project.caller, {row.upstream_id} if row.upstream_id is not None else set())
    states = {Status(job.status) for job in latest}
    columns = [
        Column(stage.name, stage.status, tuple(job for job in latest if job.stage_position == stage.position))
        for stage in stages
    ]
    return fragment(
        "pipelines/_pipeline.html",
        project=project.row,
        pipeline=row,
        user=user,
        columns=columns,
        tests=Tests(sum(suite.total for suite in suites), sum(suite.failed + suite.errored for suite in suites)),
        coverage=covered,
        standing=standing,
        downstream=downstream,
        upstream=None if row.upstream_id is None else upstream.get(row.upstream_id),
        upstream_elsewhere=await upstream_elsewhere(services, project.caller, row),
        warned=any(job.allow_failure and job.status == Status.FAILED for job in latest),
        can_cancel=may_cancel(project) and bool(states & CANCELABLE),
        can_retry=project.may_run(row) and bool(states & {Status.FAILED, Status.CANCELED}),
        may_run=project.may_run(row),
        older=len(attempts) - len(latest),
        absent=absent_jobs(project, row),
    )


@router.get("/-/pipelines/{pipeline_id}")
async def pipeline_page(request: Request, pipeline_id: Id, services: ServicesDep, project: PageProjectDep) -> Response:
    """One pipeline."""
    live = await draw_pipeline(services, project, pipeline_id)
    events = f"/{project.row.full_path}/-/pipelines/{pipeline_id}/events"
    return live_page(
        "pipelines/pipeline.html", request, project.caller, live, events, project=project.row, id=pipeline_id
    )


@router.get("/-/pipelines/{pipeline_id}/events")
async def pipeline_events(
    request: Request, pipeline_id: Id, services: ServicesDep, project: PageProjectDep
) -> Response:
    """Changes of that pipeline."""
    topic = pipeline_topic(pipeline_id)
    return await event_stream(
        request, services, project.caller, lambda: draw_pipeline(services, project, pipeline_id), topic
    )


@router.post("/-/pipelines/{pipeline_id}/retry", dependencies=[Depends(require_our_pages)])
async def retry_pipeline(pipeline_id: Id, services: ServicesDep, project: PageProjectDep) -> Response:
    """The retry button."""
    return await _ask(services, project, pipeline_id, "retry_pipeline")


@router.post("/-/pipelines/{pipeline_id}/cancel", dependencies=[Depends(require_our_pages)])
async def cancel_pipeline(pipeline_id: Id, services: ServicesDep, project: PageProjectDep) -> Response:
    """The cancel button."""
    return await _ask(services, project, pipeline_id, "cancel_pipeline")


async def _ask(services: Services, project: ProjectAccess, pipeline_id: int, name: str) -> Response:
    async with services.database.read() as connection:
        row = await pipelines.get(connection, pipeline_id, project.row.id)
    project.require_operation(name, row)
    asked = await ask_or_leave(services, pipeline_id, name, Operation(), project.caller.user_id)
    return after(asked, page_of(row, project.row.full_path))
