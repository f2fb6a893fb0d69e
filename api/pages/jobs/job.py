"""The page of a job: its log, and beside it what it has to do with and what can be done."""

from fastapi import Request
from fastapi.responses import Response

from api.deps import ServicesDep
from api.pages.frame.access import PREFIX, PageProjectDep
from api.pages.frame.live import event_stream
from api.pages.frame.live_parts import Fragment
from api.pages.frame.responses import live_page
from api.pages.frame.templates import fragment
from api.pages.jobs.job_log import first_window
from api.pages.jobs.job_offers import offers_of
from api.pages.jobs.job_rail import rail_of
from api.pages.jobs.job_timing import timing_of
from api.routes import RouteList
from api.services import Services
from api.v4.access import Id
from api.v4.jobs.log import log_of
from api.v4.representation.pipelines import page_of
from application.access import ProjectAccess, access_to
from application.bridges.downstream_pipelines import downstream_of
from application.jobs import explaining
from models.notifications import pipeline_topic, trace_topic
from models.repositories.pipelines import job_details, jobs, left_out
from models.repositories.projects import relations
from models.repositories.queue import wait_reasons

router = RouteList(prefix=f"{PREFIX}/-/jobs/{{job_id}}")


async def draw(services: Services, project: ProjectAccess, job_id: int) -> Fragment:
    """Everything about a job but its log, of which only the size is part. Raises `NotFound`."""
    project = await access_to(services, project.caller, project.row.id)
    now = services.clock()
    async with services.database.read() as connection:
        row = await jobs.get(connection, job_id, project.row.id)
        whole = await job_details.whole(connection, job_id, project.row.id)
        around = await relations.of_jobs(connection, [row], services.settings.times.ticks_until_unresponsive)
        attempts = await jobs.attempts_of(connection, row.first_id)
        standings_now = await wait_reasons.of_jobs(connection, [row], now, services.settings.times)
        omitted = await left_out.of_job(connection, row.id)
    pipeline = around.pipelines[row.pipeline_id]
    rail = await rail_of(services, project, whole, pipeline)
    async with services.database.read() as connection:
        stuck = standings_now.stuck.get(job_id, "")
        offers = await offers_of(connection, project, whole, pipeline, rail.archive, stuck)
    explained = await explaining.of_jobs(services, project, pipeline, [row])
    log = await log_of(services, row)
    downstream = await downstream_of(services, project.caller, [row])
    return fragment(
        "jobs/_job.html",
        project=project.row,
        job=row,
        pipeline=pipeline,
        pipeline_path=page_of(pipeline, project.row.full_path),
        user=around.users[row.user_id],
        runner=None if row.runner_id is None else around.runners.get(row.runner_id),
        attempts=attempts,
        log=log,
        why=explained[job_id],
        left_out=omitted,
        downstream=downstream.get(row.id),
        rail=rail,
        offers=offers,
        timing=await timing_of(services, row, log, now),
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
        job=row,
        id=job_id,
    )


@router.get("/events")
async def job_events(request: Request, job_id: Id, services: ServicesDep, project: PageProjectDep) -> Response:
    """Changes of that page; a log that grew is one."""
    async with services.database.read() as connection:
        row = await jobs.get(connection, job_id, project.row.id)
    topics = (pipeline_topic(row.pipeline_id), trace_topic(job_id))
    return await event_stream(request, services, project.caller, lambda: draw(services, project, job_id), *topics)
