"""Pages that ask before something is done with a job: they work without a script, and say what will happen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi.responses import Response

from api.deps import ServicesDep
from api.pages.frame.access import PREFIX, PageProjectDep
from api.pages.frame.responses import page
from api.pages.jobs.start_forms import StartForm, input_fields
from api.routes import RouteList
from api.services import Services
from api.v4.access import Id
from application.access import ProjectAccess
from application.environments.deploying import require_job
from application.jobs.leavings import require_erase
from auth.permissions import Action
from domain.errors import Refused
from domain.pipelines.operations import RETRIABLE
from domain.pipelines.status import Status
from domain.steps.beginning import begin_at
from models.repositories.artifacts import artifacts
from models.repositories.logs import traces
from models.repositories.pipelines import job_details, jobs, pinned_steps
from models.rows.pipelines import JobRow, ListedJobRow
from storage.step_results import results_of

EMPTY_ROWS = 3
"""Rows for variables."""

router = RouteList(prefix=f"{PREFIX}/-/jobs/{{job_id}}")


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a job, at which a new attempt may begin, or why not."""

    number: int
    name: str
    refused: str


@router.get("/play")
async def ask_play(job_id: Id, services: ServicesDep, project: PageProjectDep) -> Response:
    """What a manual or delayed job is given when it is started, and its question, if it has one."""
    return await play_form(services, project, job_id)


async def play_form(
    services: Services, project: ProjectAccess, job_id: int, sent: StartForm | None = None, fault: str = ""
) -> Response:
    """The form; as it was `sent` when there is something wrong with that. Raises `Refused`, `Forbidden`."""
    row, job = await _startable(services, project, job_id)
    if row.status not in {Status.MANUAL, Status.SCHEDULED}:
        raise Refused(f"The job is {row.status}; it waits for nobody to start it.")
    return _form(project, row, job, "play", sent, fault)


@router.get("/retry")
async def ask_retry(job_id: Id, services: ServicesDep, project: PageProjectDep, from_step: str = "") -> Response:
    """Where a new attempt begins, and what it is given instead of what this one had."""
    return await retry_form(services, project, job_id, StartForm(from_step=from_step[:200]))


async def retry_form(
    services: Services, project: ProjectAccess, job_id: int, sent: StartForm, fault: str = ""
) -> Response:
    """The form; as it was `sent` when there is something wrong with that. Raises `Refused`, `Forbidden`."""
    row, job = await _startable(services, project, job_id)
    if row.retried or row.status not in RETRIABLE:
        raise Refused("Only the latest attempt of a job can be retried, when it has ended.")
    steps = await _steps(services, job)
    return _form(project, row, job, "retry", sent, fault, steps=steps)


@router.get("/erase")
async def ask_erase(job_id: Id, services: ServicesDep, project: PageProjectDep) -> Response:
    """What will be gone when a job is erased."""
    async with services.database.read() as connection:
        row = await jobs.get(connection, job_id, project.row.id)
        require_erase(project, row)
        await require_job(connection, project, row)
        files = await artifacts.of_jobs(connection, [job_id])
        log = await traces.head(connection, job_id)
    return _asked(project, row, "erase", files=files, log_size=log.size)


@router.get("/artifacts/delete")
async def ask_delete(job_id: Id, services: ServicesDep, project: PageProjectDep) -> Response:
    """What will be gone when the artifacts of a job are deleted."""
    project.require(Action.ADMINISTER)
    async with services.database.read() as connection:
        row = await jobs.get(connection, job_id, project.row.id)
        await require_job(connection, project, row)
        files = await artifacts.of_jobs(connection, [job_id])
    return _asked(project, row, "delete", files=files, log_size=0)


async def _startable(services: Services, project: ProjectAccess, job_id: int) -> tuple[ListedJobRow, JobRow]:
    async with services.database.read() as connection:
        row = await jobs.get(connection, job_id, project.row.id)
        await require_job(connection, project, row)
        return row, await job_details.whole(connection, job_id, project.row.id)


async def _steps(services: Services, job: JobRow) -> Sequence[Step]:
    run: Sequence[Mapping[str, Any]] = job.plan.get("run") or ()
    if not run:
        return ()
    async with services.database.read() as connection:
        attempt = await pinned_steps.retried(connection, job.pipeline_id, job.id)
    results = await results_of(services.store, attempt)
    found = []
    for number, step in enumerate(run, start=1):
        refused = ""
        try:
            begin_at(run, results, str(number))
        except Refused as error:
            refused = str(error)
        found.append(Step(number, str(step["name"]), refused))
    return found


def _form(
    project: ProjectAccess, row: ListedJobRow, job: JobRow, kind: str, sent: StartForm | None, fault: str, **more: Any
) -> Response:
    filled = sent or StartForm()
    return page(
        f"jobs/{kind}.html",
        project.caller,
        400 if fault else 200,
        project=project.row,
        job=row,
        job_address=f"/{project.row.full_path}/-/jobs/{row.id}",
        fields=input_fields(job),
        given=[item["key"] for item in job.variables],
        filled=filled,
        empty=range(EMPTY_ROWS),
        fault=fault,
        **more,
    )


def _asked(project: ProjectAccess, row: ListedJobRow, kind: str, **more: Any) -> Response:
    address = f"/{project.row.full_path}/-/jobs/{row.id}"
    return page(f"jobs/{kind}.html", project.caller, project=project.row, job=row, job_address=address, **more)
