"""The page of a job: its facts, its attempts, its log, its buttons."""

from fastapi import Depends, Request
from fastapi.responses import RedirectResponse, Response

from api.deps import ServicesDep
from api.pages.frame.access import PREFIX, PageProjectDep
from api.pages.frame.asking import after
from api.pages.frame.live import event_stream
from api.pages.frame.live_parts import Fragment
from api.pages.frame.responses import live_page
from api.pages.frame.templates import fragment
from api.pages.jobs.job_log import first_window
from api.pages.pipelines.pipeline import may_cancel
from api.routes import RouteList
from api.services import Services
from api.v4.access import Id
from api.v4.asking import ask_or_leave
from api.v4.jobs.artifact_access import may_read
from api.v4.jobs.log import log_of
from api.v4.origin import require_our_pages
from api.v4.representation.pipelines import page_of
from application.access import ProjectAccess, access_to
from application.audit import record
from application.bridges.downstream_pipelines import downstream_of
from application.environments.deploying import require_deploying_job
from application.jobs import explaining
from auth.permissions import require_admin
from domain.messages import Operation
from domain.pipelines.operations import CANCELABLE, RETRIABLE
from domain.pipelines.status import Status
from domain.pipelines.stuck import awaits_permission
from models.notifications import RUNNERS, pipeline_topic, trace_topic
from models.repositories.artifacts.artifacts import ARCHIVE
from models.repositories.environments import deploy_permissions
from models.repositories.installation.audit import Happened
from models.repositories.pipelines import jobs, left_out, pipelines
from models.repositories.projects import projects, relations
from models.repositories.queue import wait_reasons

router = RouteList(prefix=f"{PREFIX}/-/jobs/{{job_id}}")


async def draw(services: Services, project: ProjectAccess, job_id: int) -> Fragment:
    """Everything about a job but its log, of which only the size is part. Raises `NotFound`."""
    project = await access_to(services, project.caller, project.row.id)
    async with services.database.read() as connection:
        row = await jobs.get(connection, job_id, project.row.id)
        around = await relations.of_jobs(connection, [row])
        attempts = await jobs.attempts_of(connection, row.first_id)
        standings_now = await wait_reasons.of_jobs(connection, [row], services.clock(), services.settings.times)
        omitted = await left_out.of_job(connection, row.id)
        guarded = await deploy_permissions.refusal_of_job(connection, row.id, project.caller.user_id)
    stuck = standings_now.stuck.get(job_id, "")
    explained = await explaining.of_jobs(services, project, around.pipelines[row.pipeline_id], [row])
    log = await log_of(services, row)
    downstream = await downstream_of(services, project.caller, [row])
    pipeline = around.pipelines[row.pipeline_id]
    state, ours = Status(row.status), not row.retried and not guarded
    allowed = ours and project.may_run(pipeline)
    return fragment(
        "jobs/_job.html",
        project=project.row,
        job=row,
        pipeline=pipeline,
        pipeline_path=page_of(pipeline, project.row.full_path),
        user=around.users[row.user_id],
        runner=None if row.runner_id is None else around.runners.get(row.runner_id),
        artifacts=[
            item
            for item in around.artifacts.get(row.id, ())
            if item.file_type == ARCHIVE and may_read(project, item.access)
        ],
        attempts=attempts,
        log=log,
        why=explained[job_id],
        can_allow=project.caller.is_admin and awaits_permission(stuck),
        left_out=omitted,
        downstream=downstream.get(row.id),
        can_cancel=ours and may_cancel(project) and state in CANCELABLE,
        can_retry=allowed and state in RETRIABLE,
        can_play=allowed and state in {Status.MANUAL, Status.SCHEDULED},
    )


@router.get("")
async def job_page(request: Request, job_id: Id, services: ServicesDep, project: PageProjectDep) -> Response:
    """One attempt of a job."""
    live = await draw(services, project, job_id)
    async with services.database.read() as connection:
        row = await jobs.get(connection, job_id, project.row.id)
    path = f"/{project.row.full_path}/-/jobs/{job_id}"
    window = await first_window(services, row)
    return live_page(
        "jobs/job.html",
        request,
        project.caller,
        live,
        f"{path}/events",
        project=project.row,
        path=path,
        window=window,
        id=job_id,
    )


@router.get("/events")
async def job_events(request: Request, job_id: Id, services: ServicesDep, project: PageProjectDep) -> Response:
    """Changes of that page; a log that grew is one."""
    async with services.database.read() as connection:
        row = await jobs.get(connection, job_id, project.row.id)
    topics = (pipeline_topic(row.pipeline_id), trace_topic(job_id))
    return await event_stream(request, services, project.caller, lambda: draw(services, project, job_id), *topics)


@router.post("/retry", dependencies=[Depends(require_our_pages)])
async def retry_job(job_id: Id, services: ServicesDep, project: PageProjectDep) -> Response:
    """The retry button; leads to the new attempt."""
    return await _ask(services, project, job_id, "retry_job")


@router.post("/cancel", dependencies=[Depends(require_our_pages)])
async def cancel_job(job_id: Id, services: ServicesDep, project: PageProjectDep) -> Response:
    """The cancel button."""
    return await _ask(services, project, job_id, "cancel_job")


@router.post("/play", dependencies=[Depends(require_our_pages)])
async def play_job(job_id: Id, services: ServicesDep, project: PageProjectDep) -> Response:
    """The button of a manual or delayed job."""
    return await _ask(services, project, job_id, "play_job")


@router.post("/allow", dependencies=[Depends(require_our_pages)])
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
    return RedirectResponse(f"/{project.row.full_path}/-/jobs/{job_id}", 303)


async def _ask(services: Services, project: ProjectAccess, job_id: int, name: str) -> Response:
    async with services.database.read() as connection:
        row = await jobs.get(connection, job_id, project.row.id)
        pipeline = await pipelines.get(connection, row.pipeline_id)
        project.require_operation(name, pipeline)
        await require_deploying_job(connection, project, job_id)
    asked = await ask_or_leave(services, row.pipeline_id, name, Operation("", job_id), project.caller.user_id)
    shown = asked.answer.jobs[0] if asked.answer is not None and asked.answer.jobs else job_id
    return after(asked, f"/{project.row.full_path}/-/jobs/{shown}")
