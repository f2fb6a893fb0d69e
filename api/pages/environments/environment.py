"""The page of an environment: what is on it, its deployments, and its buttons."""

from typing import Final

from fastapi import Depends, Request
from fastapi.responses import RedirectResponse, Response

from api.deps import ServicesDep
from api.pages.frame.access import PREFIX, PageProjectDep
from api.pages.frame.asking import after
from api.pages.frame.live import event_stream
from api.pages.frame.live_parts import Fragment
from api.pages.frame.page_count import page_count
from api.pages.frame.responses import live_page
from api.pages.frame.templates import fragment
from api.pages.projects.home import Number
from api.routes import RouteList
from api.services import Services
from api.v4.access import Id
from api.v4.asking import ask_or_leave
from api.v4.origin import require_our_pages
from application.access import ProjectAccess, access_to
from application.environments import stopping
from application.environments.deployed import OPERATIONS, Step, shown_to, standing_of, step_of
from application.environments.deploying import require_job
from auth.permissions import Action
from domain.errors import Invalid, Refused
from domain.messages import Operation
from models.notifications import project_topic
from models.repositories.environments import deployment_listings, environment_lifecycle, environments
from models.repositories.paging import slice_of
from models.repositories.pipelines import jobs
from models.rows.environments import DeploymentRow
from models.rows.pipelines import ListedJobRow

PER_PAGE: Final = 20

router = RouteList(prefix=f"{PREFIX}/-/environments/{{environment_id}}")


async def draw(services: Services, project: ProjectAccess, environment_id: int, number: int) -> Fragment:
    """The environment as it is now. Raises `NotFound`."""
    project = await access_to(services, project.caller, project.row.id)
    async with services.database.read() as connection:
        row = await environments.get(connection, environment_id, project.row.id)
        found = await slice_of(connection, deployment_listings.of_environment(row.id), number, PER_PAGE)
        current = await deployment_listings.latest_successful(connection, [row.id])
        stop_jobs = await environment_lifecycle.pipelines_to_stop(connection, row.id)
        may_stop = await stopping.may_stop(connection, project, row, stop_jobs)
    standing = (await standing_of(services, project, [row]))[row.id]
    return fragment(
        "environments/_environment.html",
        project=project.row,
        environment=row,
        standing=standing,
        deployments=await shown_to(services, project, found.rows, current),
        has_stop_job=bool(stop_jobs),
        may_deploy=project.may(Action.RUN) and not standing.refusal,
        may_stop=may_stop,
        number=number,
        last=page_count(found.total, PER_PAGE),
        total=found.total,
    )


@router.get("")
async def environment_page(
    environment_id: Id, request: Request, services: ServicesDep, project: PageProjectDep, page: Number = 1
) -> Response:
    """One environment."""
    live = await draw(services, project, environment_id, page)
    async with services.database.read() as connection:
        row = await environments.get(connection, environment_id, project.row.id)
    return live_page(
        "environments/environment.html",
        request,
        project.caller,
        live,
        f"{address_of(project, environment_id)}/events",
        project=project.row,
        section="environments",
        name=row.name,
    )


def address_of(project: ProjectAccess, environment_id: int) -> str:
    """The page of an environment."""
    return f"/{project.row.full_path}/-/environments/{environment_id}"


@router.get("/events")
async def environment_events(
    environment_id: Id, request: Request, services: ServicesDep, project: PageProjectDep, page: Number = 1
) -> Response:
    """Changes of that page."""
    topic = project_topic(project.row.id)
    return await event_stream(
        request, services, project.caller, lambda: draw(services, project, environment_id, page), topic
    )


@router.post("/stop", dependencies=[Depends(require_our_pages)])
async def stop(environment_id: Id, services: ServicesDep, project: PageProjectDep) -> Response:
    """The stop button: has the stop job run, if there is one."""
    await stopping.stop(services, project, environment_id)
    return RedirectResponse(address_of(project, environment_id), 303)


@router.post("/cancel_auto_stop", dependencies=[Depends(require_our_pages)])
async def cancel_auto_stop(environment_id: Id, services: ServicesDep, project: PageProjectDep) -> Response:
    """The button that lets the environment stay."""
    await stopping.let_stay(services, project, environment_id)
    return RedirectResponse(address_of(project, environment_id), 303)


@router.post("/delete", dependencies=[Depends(require_our_pages)])
async def delete(environment_id: Id, services: ServicesDep, project: PageProjectDep) -> Response:
    """The delete button of one that is stopped."""
    await stopping.remove(services, project, environment_id)
    return RedirectResponse(f"/{project.row.full_path}/-/environments?scope=stopped", 303)


@router.post("/deployments/{deployment_id}/run", dependencies=[Depends(require_our_pages)])
async def run(environment_id: Id, deployment_id: Id, services: ServicesDep, project: PageProjectDep) -> Response:
    """The button of a deployment: its job runs again, which deploys the same or goes back to it."""
    row, job, step = await _step(services, project, environment_id, deployment_id)
    async with services.database.read() as connection:
        await require_job(connection, project, job)
    operation = Operation("", job.id)
    asked = await ask_or_leave(services, job.pipeline_id, OPERATIONS[step], operation, project.caller.user_id)
    return after(asked, address_of(project, row.environment_id))


async def _step(
    services: Services, project: ProjectAccess, environment_id: int, deployment_id: int
) -> tuple[DeploymentRow, ListedJobRow, Step]:
    """What is to be done with a deployment. Raises `NotFound`, `Invalid` for a reported one, `Refused`."""
    async with services.database.read() as connection:
        await environments.get(connection, environment_id, project.row.id)
        row = await deployment_listings.get(connection, deployment_id, project.row.id)
        current = await deployment_listings.latest_successful(connection, [environment_id])
        found = await jobs.by_ids(connection, [] if row.job_id is None else [row.job_id])
    if row.job_id is None or row.environment_id != environment_id:
        raise Invalid("This deployment was reported by somebody: no job of ours made it, so none can run again.")
    job = found[row.job_id]
    step = step_of(job, row, current.get(environment_id))
    if step not in OPERATIONS:
        raise Refused(f"Job {job.name} is {job.status}; it cannot run again here. Look at its newest deployment.")
    return row, job, step
