"""What the buttons of a job do. Each asks for the same rights as the REST API does."""

from typing import Annotated

from fastapi import Depends
from fastapi.responses import RedirectResponse, Response

from api.deps import ServicesDep
from api.pages.frame.access import PREFIX, PageProjectDep
from api.pages.frame.asking import after
from api.pages.jobs.job_forms import play_form, retry_form
from api.pages.jobs.start_forms import StartForm, changed_inputs, sent
from api.routes import RouteList
from api.services import Services
from api.v4.access import Id
from api.v4.asking import ask_or_leave
from api.v4.origin import require_our_pages
from application.access import ProjectAccess
from application.audit import record
from application.environments.deploying import require_job
from application.jobs import leavings
from application.jobs.starting import inputs_for, variables_for
from auth.permissions import require_admin
from domain.errors import Invalid
from domain.messages import Operation
from models.notifications import RUNNERS
from models.repositories.installation.audit import Happened
from models.repositories.pipelines import job_details, jobs
from models.repositories.projects import projects
from models.rows.pipelines import ListedJobRow

router = RouteList(prefix=f"{PREFIX}/-/jobs/{{job_id}}", dependencies=[Depends(require_our_pages)])

FormDep = Annotated[StartForm, Depends(sent)]


@router.post("/retry")
async def retry_job(job_id: Id, services: ServicesDep, project: PageProjectDep, form: FormDep) -> Response:
    """A new attempt, with what the form gives, from the step that it names; leads to that attempt."""
    try:
        operation = await _operation(services, project, job_id, form)
        return await _ask(services, project, "retry_job", operation)
    except Invalid as error:
        return await retry_form(services, project, job_id, form, str(error))


@router.post("/play")
async def play_job(job_id: Id, services: ServicesDep, project: PageProjectDep, form: FormDep) -> Response:
    """Start a manual or delayed job; one that has a question only for who has said yes to it."""
    async with services.database.read() as connection:
        row = await jobs.get(connection, job_id, project.row.id)
    if row.manual_confirmation and not form.is_confirmed:
        return await play_form(services, project, job_id, form)
    try:
        operation = await _operation(services, project, job_id, form)
        return await _ask(services, project, "play_job", operation)
    except Invalid as error:
        return await play_form(services, project, job_id, form, str(error))


@router.post("/unschedule")
async def unschedule_job(job_id: Id, services: ServicesDep, project: PageProjectDep) -> Response:
    """Let a delayed job wait for a person instead of its time."""
    return await _ask(services, project, "unschedule_job", Operation(job_id=job_id))


@router.post("/cancel")
async def cancel_job(job_id: Id, services: ServicesDep, project: PageProjectDep) -> Response:
    """The cancel button."""
    return await _ask(services, project, "cancel_job", Operation(job_id=job_id))


@router.post("/erase")
async def erase_job(job_id: Id, services: ServicesDep, project: PageProjectDep) -> Response:
    """Forget the log, the artifacts and the reports of a job."""
    await leavings.erase(services, project, await _job(services, project, job_id))
    return _back(project, job_id)


@router.post("/artifacts/keep")
async def keep_artifacts(job_id: Id, services: ServicesDep, project: PageProjectDep) -> Response:
    """Keep the artifacts of a job for ever."""
    await leavings.keep_artifacts(services, project, await _job(services, project, job_id))
    return _back(project, job_id)


@router.post("/artifacts/delete")
async def delete_artifacts(job_id: Id, services: ServicesDep, project: PageProjectDep) -> Response:
    """Delete the artifacts of a job, and what its reports said."""
    await leavings.delete_artifacts(services, project, await _job(services, project, job_id))
    return _back(project, job_id)


@router.post("/allow")
async def allow_as_server(job_id: Id, services: ServicesDep, project: PageProjectDep) -> Response:
    """The button of a job that waits because its project's jobs may not run as the server's user; for administrators.

    It does what `PUT /projects/:id` does with `may_run_as_server`.
    """
    require_admin(project.caller)
    values = {"may_run_as_server": True}
    async with services.database.write() as connection:
        await jobs.get(connection, job_id, project.row.id)
        await projects.change(connection, project.row.id, **values)
        happened = Happened("project_changed", values)
        await record(connection, project.caller, project.entity, happened, services.clock())
    await services.notifications.tell(RUNNERS)
    return _back(project, job_id)


async def _job(services: Services, project: ProjectAccess, job_id: int) -> ListedJobRow:
    async with services.database.read() as connection:
        return await jobs.get(connection, job_id, project.row.id)


def _back(project: ProjectAccess, job_id: int) -> RedirectResponse:
    return RedirectResponse(f"/{project.row.full_path}/-/jobs/{job_id}", 303)


async def _operation(services: Services, project: ProjectAccess, job_id: int, form: StartForm) -> Operation:
    """What the form asks for. Raises `Invalid`; `Forbidden` before anything of the job is told."""
    async with services.database.read() as connection:
        row = await job_details.whole(connection, job_id, project.row.id)
        await require_job(connection, project, row)
    inputs = await inputs_for(services, row, changed_inputs(row, form.inputs))
    variables = await variables_for(services, row, form.variables)
    return Operation(job_id=job_id, variables=variables, inputs=inputs, from_step=form.from_step)


async def _ask(services: Services, project: ProjectAccess, name: str, operation: Operation) -> Response:
    job_id = operation.job_id or 0
    async with services.database.read() as connection:
        row = await jobs.get(connection, job_id, project.row.id)
        await require_job(connection, project, row)
    asked = await ask_or_leave(services, row.pipeline_id, name, operation, project.caller.user_id)
    shown = asked.answer.jobs[0] if asked.answer is not None and asked.answer.jobs else job_id
    return after(asked, f"/{project.row.full_path}/-/jobs/{shown}")
