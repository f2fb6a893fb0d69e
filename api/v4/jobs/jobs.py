"""Jobs: listed, read, canceled, retried, played."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Final, NotRequired

from fastapi import Depends, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field, StrictInt, StrictStr
from sqlalchemy.ext.asyncio import AsyncConnection

from api.deps import ServicesDep
from api.routes import RouteList
from api.services import Services
from api.v4.access import JobAccess, JobDep, ProjectDep
from api.v4.asking import KEPT, answer_with
from api.v4.pagination import PagingDep
from api.v4.parameters import Optionals, given
from api.v4.pipelines.pipelines import NewVariable
from api.v4.representation.jobs import JobResponse
from api.v4.representation.jobs import job as shown
from application.environments.deploying import require_job
from application.jobs import leavings
from application.jobs.canceling import end_canceling_job
from application.jobs.starting import inputs_for
from domain.errors import Invalid
from domain.messages import Answer, Operation
from domain.pipelines.operation_input import MAX_STEP
from domain.pipelines.status import Status
from models.repositories.paging import slice_of
from models.repositories.pipelines import jobs
from models.repositories.projects import relations
from models.repositories.queue import wait_reasons
from models.rows.pipelines import ListedJobRow
from models.rows.projects import ProjectRow

router = RouteList(prefix="/projects/{project}/jobs")

_PLAIN: Final = Operation()


class Play(BaseModel):
    """Parameters of `POST /projects/:id/jobs/:job_id/play`; `job_inputs` are values by name."""

    job_variables_attributes: list[NewVariable] = []
    job_inputs: dict[str, Any] = {}


class Cancel(Optionals):
    """Parameters of `POST /projects/:id/jobs/:job_id/cancel`.

    `force` ends a job that is being canceled already without waiting for its runner; maintainers may.
    """

    force: bool = False


class Retry(Optionals):
    """Parameters of `POST /projects/:id/jobs/:job_id/retry`.

    `job_inputs` take the place of what the attempt before was given. `from_step`, which GitLab does not have, is the
    step of the job's `run` at which the new attempt begins: its name, or its number from 1.
    """

    from_step: StrictStr | StrictInt | None = None
    job_inputs: dict[str, Any] = Field(default_factory=dict)

    @property
    def step(self) -> str:
        """The step as it is asked for, empty for the whole job. Raises `Invalid`."""
        if self.from_step is None:
            return ""
        step = str(self.from_step)
        if not 0 < len(step) <= MAX_STEP:
            raise Invalid(f"from_step is a step of the job's `run` by name or number, of at most {MAX_STEP} characters")
        return step


class AskedJobResponse(JobResponse):
    """A job after an operation; `notice` says that there was nothing to do."""

    notice: NotRequired[str]


async def scope_of(request: Request) -> tuple[str, ...]:
    """The states that `scope` or `scope[]` name. Raises `Invalid` for one that does not exist."""
    wanted = tuple(request.query_params.getlist("scope[]") + request.query_params.getlist("scope"))
    if set(wanted) - set(Status):
        raise Invalid("scope does not have a valid value")
    return wanted


ScopeDep = Annotated[tuple[str, ...], Depends(scope_of)]


async def shown_jobs(
    services: Services, connection: AsyncConnection, rows: Sequence[ListedJobRow], full_path: str
) -> list[JobResponse]:
    """Jobs of one project as JSON."""
    around, now = (
        await relations.of_jobs(connection, rows, services.settings.times.ticks_until_unresponsive),
        services.clock(),
    )
    standing = await wait_reasons.of_jobs(connection, rows, now, services.settings.times)
    return [shown(row, around, standing, full_path, services.settings.url, now) for row in rows]


async def full(services: Services, job_id: int, project: ProjectRow) -> JobResponse:
    """One job as it is now."""
    async with services.database.read() as connection:
        row = await jobs.get(connection, job_id, project.id)
        return (await shown_jobs(services, connection, [row], project.full_path))[0]


@router.get("", response_model=list[JobResponse])
async def list_jobs(project: ProjectDep, services: ServicesDep, paging: PagingDep, scope: ScopeDep) -> JSONResponse:
    """All attempts of all jobs of a project, newest first."""
    async with services.database.read() as connection:
        page = await slice_of(connection, jobs.of_project(project.row.id, statuses=scope), paging.number, paging.size)
        items = await shown_jobs(services, connection, page.rows, project.row.full_path)
    return paging.response(items, page.total)


@router.get("/{job_id}")
async def get_job(found: JobDep, services: ServicesDep) -> JobResponse:
    """One attempt of a job."""
    return await full(services, found.row.id, found.project.row)


@router.post("/{job_id}/cancel", status_code=201, response_model=AskedJobResponse, responses=KEPT)
async def cancel_job(
    cancel: Annotated[Cancel, Depends(given(Cancel))], found: JobDep, services: ServicesDep
) -> JSONResponse:
    """Cancel a job that has not ended, or end one that is being canceled, with `force`."""
    if not cancel.force:
        return await _ask(services, found, "cancel_job")
    notice = await end_canceling_job(services, found.project, found.row)
    shown = await full(services, found.row.id, found.project.row)
    return JSONResponse({**shown, "notice": notice} if notice else shown, 201)


@router.post("/{job_id}/retry", status_code=201, response_model=AskedJobResponse, responses=KEPT)
async def retry_job(
    retry: Annotated[Retry, Depends(given(Retry))], found: JobDep, services: ServicesDep
) -> JSONResponse:
    """Run a finished job again, from a step of its `run` on if one is named; the response is the new attempt."""
    inputs = await inputs_for(services, found.row, retry.job_inputs)
    return await _ask(services, found, "retry_job", Operation(from_step=retry.step, inputs=inputs))


@router.post("/{job_id}/play", response_model=AskedJobResponse, responses=KEPT)
async def play_job(play: Annotated[Play, Depends(given(Play))], found: JobDep, services: ServicesDep) -> JSONResponse:
    """Start a manual or delayed job, now or once more, with variables and values of inputs of its own."""
    variables = {variable.key: variable.value for variable in play.job_variables_attributes}
    inputs = await inputs_for(services, found.row, play.job_inputs)
    return await _ask(services, found, "play_job", Operation(variables=variables, inputs=inputs), 200)


@router.post("/{job_id}/erase", status_code=201)
async def erase_job(found: JobDep, services: ServicesDep) -> JobResponse:
    """Forget the log, the artifacts and the reports of a job that has ended."""
    await leavings.erase(services, found.project, found.row)
    return await full(services, found.row.id, found.project.row)


async def _ask(
    services: Services, found: JobAccess, name: str, operation: Operation = _PLAIN, status: int = 201
) -> JSONResponse:
    async with services.database.read() as connection:
        await require_job(connection, found.project, found.row)

    async def present(response: Answer) -> JobResponse:
        return await full(services, response.jobs[0] if response.jobs else found.row.id, found.project.row)

    asked = replace(operation, job_id=found.row.id)
    caller_id = found.project.caller.user_id
    return await answer_with(services, found.row.pipeline_id, name, asked, caller_id, present, status)
