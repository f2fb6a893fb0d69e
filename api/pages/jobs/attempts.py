"""Two attempts of a job beside each other: what happened to each, and what was different."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from fastapi import Query, Request
from fastapi.responses import Response

from api.deps import ServicesDep
from api.pages.frame.access import PREFIX, PageProjectDep
from api.pages.frame.live import event_stream
from api.pages.frame.live_parts import Fragment
from api.pages.frame.responses import live_page
from api.pages.frame.templates import fragment
from api.pages.jobs.job_timing import Bar, timing_of
from api.routes import RouteList
from api.services import Services
from api.v4.access import Id
from api.v4.jobs.artifact_access import may_read
from api.v4.jobs.log import log_of
from application.access import ProjectAccess, access_to
from application.jobs import explaining, variable_names
from domain.errors import NotFound
from domain.variables.named_variables import NamedVariable, differing
from domain.why.explanation import Explanation
from models.notifications import pipeline_topic
from models.repositories.artifacts import reports
from models.repositories.artifacts.reports import TestCasesRow
from models.repositories.pipelines import job_details, jobs, pipelines
from models.repositories.projects import relations
from models.rows.accounts import UserRow
from models.rows.artifacts import ArtifactRow
from models.rows.pipelines import JobRow, ListedJobRow, PipelineRow
from models.rows.runners import RunnerRow

MAX_TESTS: Final = 50
"""Failing tests that are named of each attempt."""
_FAILING: Final = frozenset({"failed", "error"})

router = RouteList(prefix=f"{PREFIX}/-/jobs/{{job_id}}/attempts")


@dataclass(frozen=True, slots=True)
class Attempt:
    """One of the two. `inputs` are the names of those that it was given; `variables` is None for who may not run it."""

    row: ListedJobRow
    why: Explanation
    user: UserRow | None
    runner: RunnerRow | None
    timing: Sequence[Bar]
    artifacts: Sequence[ArtifactRow]
    tests: TestCasesRow | None
    failing: Sequence[tuple[str, str]]
    variables: Sequence[NamedVariable] | None
    inputs: Sequence[str]

    def took(self, kind: str) -> float | None:
        """Seconds of one phase."""
        return next((bar.seconds for bar in self.timing if bar.phase.kind == kind), None)


async def draw(services: Services, project: ProjectAccess, job_id: int, one: int, other: int) -> Fragment:
    """Both attempts; without numbers the one that is asked for and the one before it. Raises `NotFound`."""
    project = await access_to(services, project.caller, project.row.id)
    async with services.database.read() as connection:
        asked = await jobs.get(connection, job_id, project.row.id)
        every = await jobs.attempts_of(connection, asked.first_id)
        pipeline = await pipelines.get(connection, asked.pipeline_id, project.row.id)
    by_number = {row.attempt: row for row in every}
    second = by_number.get(other or asked.attempt)
    first = by_number.get(one or max((n for n in by_number if second and n < second.attempt), default=asked.attempt))
    if first is None or second is None:
        raise NotFound("The job has no attempt of that number.")
    if first.id == second.id and len(every) > 1:
        second = next(row for row in every if row.attempt > first.attempt)
    sides = [await _attempt(services, project, pipeline, row) for row in (first, second)]
    left, right = (side.variables for side in sides)
    return fragment(
        "jobs/_attempts.html",
        project=project.row,
        job=asked,
        pipeline=pipeline,
        attempts=every,
        sides=sides,
        differing=None if left is None or right is None else differing(left, right),
    )


async def _attempt(services: Services, project: ProjectAccess, pipeline: PipelineRow, row: ListedJobRow) -> Attempt:
    async with services.database.read() as connection:
        whole: JobRow = await job_details.whole(connection, row.id, project.row.id)
        around = await relations.of_jobs(connection, [row], services.settings.times.ticks_until_unresponsive)
        tests = await reports.tests_of_job(connection, row.id)
        may_run = project.may_run(pipeline)
        names = await variable_names.of_job(connection, whole, pipeline) if may_run else None
    explained = await explaining.of_jobs(services, project, pipeline, [row])
    log = await log_of(services, row)
    cases = tests.cases if tests is not None else ()
    failing = [
        (case.get("classname") or "", case.get("name") or "") for case in cases if case.get("status") in _FAILING
    ]
    return Attempt(
        row=row,
        why=explained[row.id],
        user=around.users.get(row.user_id),
        runner=None if row.runner_id is None else around.runners.get(row.runner_id),
        timing=await timing_of(services, row, log, services.clock()),
        artifacts=[item for item in around.artifacts.get(row.id, ()) if may_read(project, item.access)],
        tests=tests,
        failing=failing[:MAX_TESTS],
        variables=names,
        inputs=sorted(whole.inputs or {}),
    )


NumberDep = Annotated[int, Query(ge=0, le=2**31)]


@router.get("")
async def attempts_page(
    request: Request,
    job_id: Id,
    services: ServicesDep,
    project: PageProjectDep,
    one: NumberDep = 0,
    other: NumberDep = 0,
) -> Response:
    """Two attempts side by side."""
    live = await draw(services, project, job_id, one, other)
    address = f"/{project.row.full_path}/-/jobs/{job_id}"
    async with services.database.read() as connection:
        row = await jobs.get(connection, job_id, project.row.id)
    return live_page(
        "jobs/attempts.html",
        request,
        project.caller,
        live,
        f"{address}/attempts/events",
        project=project.row,
        job=row,
        job_address=address,
    )


@router.get("/events")
async def attempts_events(
    request: Request,
    job_id: Id,
    services: ServicesDep,
    project: PageProjectDep,
    one: NumberDep = 0,
    other: NumberDep = 0,
) -> Response:
    """Changes of that page."""
    async with services.database.read() as connection:
        row = await jobs.get(connection, job_id, project.row.id)
    topic = pipeline_topic(row.pipeline_id)
    return await event_stream(
        request, services, project.caller, lambda: draw(services, project, job_id, one, other), topic
    )
