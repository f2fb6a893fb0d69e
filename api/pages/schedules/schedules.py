"""The list of a project's pipeline schedules, the page of one with its ticks, and their buttons."""

from typing import Annotated, Any, Final, Literal, TypeAlias

from fastapi import Depends, Request
from fastapi.responses import RedirectResponse, Response

from api.deps import ServicesDep
from api.pages.frame.access import PREFIX, PageProjectDep
from api.pages.frame.live import event_stream
from api.pages.frame.live_parts import Fragment
from api.pages.frame.page_count import page_count
from api.pages.frame.responses import live_page
from api.pages.frame.templates import fragment
from api.pages.projects.home import Number
from api.pages.schedules.shown import OUTCOMES, past_of, shown_schedules
from api.routes import RouteList
from api.services import Services
from api.v4.access import Id
from api.v4.origin import require_our_pages
from application.access import ProjectAccess, access_to
from application.schedules import changing
from application.schedules.schedule_access import ScheduleAccess, access_to_schedule
from application.schedules.schedule_input import ScheduleFields
from auth.permissions import Action
from models.notifications import project_topic, schedule_topic
from models.repositories.paging import slice_of
from models.repositories.pipelines import pipelines, schedule_ticks, schedules

PER_PAGE: Final = 30
TICKS_PER_PAGE: Final = 30
SCOPES: Final = {"": "All", "active": "Active", "inactive": "Inactive"}

Scope: TypeAlias = Literal["", "active", "inactive"]

router = RouteList(prefix=f"{PREFIX}/-/pipeline_schedules")


async def schedule_of_page(schedule_id: Id, project: PageProjectDep, services: ServicesDep) -> ScheduleAccess:
    """The schedule of a page. Raises `NotFound`."""
    return await access_to_schedule(services, project, schedule_id)


PageScheduleDep = Annotated[ScheduleAccess, Depends(schedule_of_page)]


def address(project: ProjectAccess, rest: str = "") -> str:
    """Where the schedules of a project are."""
    return f"/{project.row.full_path}/-/pipeline_schedules{rest}"


async def draw_list(services: Services, project: ProjectAccess, number: int, scope: str) -> Fragment:
    """The list as the caller may see it now."""
    project = await access_to(services, project.caller, project.row.id)
    async with services.database.read() as connection:
        found = await slice_of(connection, schedules.of_project(project.row.id, scope), number, PER_PAGE)
    return fragment(
        "schedules/_schedules.html",
        project=project.row,
        schedules=await shown_schedules(services, project, found.rows),
        outcomes=OUTCOMES,
        scope=scope,
        tabs_of_scopes=[{"key": key, "text": word, "href": f"?scope={key}"} for key, word in SCOPES.items()],
        number=number,
        last=page_count(found.total, PER_PAGE),
        runs=project.may(Action.RUN),
    )


@router.get("")
async def list_page(
    request: Request, services: ServicesDep, project: PageProjectDep, page: Number = 1, scope: Scope = ""
) -> Response:
    """The schedules of a project."""
    live = await draw_list(services, project, page, scope)
    events = address(project, "/events")
    values: dict[str, Any] = {"project": project.row, "section": "schedules", "runs": project.may(Action.RUN)}
    return live_page("schedules/schedules.html", request, project.caller, live, events, **values)


@router.get("/events")
async def list_events(
    request: Request, services: ServicesDep, project: PageProjectDep, page: Number = 1, scope: Scope = ""
) -> Response:
    """Changes of that list."""
    async with services.database.read() as connection:
        found = await slice_of(connection, schedules.of_project(project.row.id, scope), page, PER_PAGE)
    topics = (project_topic(project.row.id), *(schedule_topic(row.id) for row in found.rows))
    return await event_stream(
        request, services, project.caller, lambda: draw_list(services, project, page, scope), *topics
    )


async def draw(services: Services, project: ProjectAccess, schedule_id: int, number: int) -> Fragment:
    """One schedule as it is now, with what became of its ticks. Raises `NotFound`."""
    project = await access_to(services, project.caller, project.row.id)
    async with services.database.read() as connection:
        row = await schedules.get(connection, schedule_id, project.row.id)
        found = await slice_of(connection, schedule_ticks.of_schedule(row.id), number, TICKS_PER_PAGE)
        made = [tick.pipeline_id for tick in found.rows if tick.pipeline_id is not None]
        known = {one.id: one for one in await pipelines.by_ids(connection, made)}
    (shown,) = await shown_schedules(services, project, [row])
    return fragment(
        "schedules/_schedule.html",
        project=project.row,
        one=shown,
        past=past_of(found.rows, known),
        outcomes=OUTCOMES,
        number=number,
        last=page_count(found.total, TICKS_PER_PAGE),
    )


@router.get("/{schedule_id}")
async def schedule_page(
    request: Request, services: ServicesDep, project: PageProjectDep, found: PageScheduleDep, page: Number = 1
) -> Response:
    """One schedule."""
    live = await draw(services, project, found.row.id, page)
    events = address(project, f"/{found.row.id}/events")
    values: dict[str, Any] = {"project": project.row, "section": "schedules", "name": found.row.description}
    return live_page("schedules/schedule.html", request, project.caller, live, events, **values)


@router.get("/{schedule_id}/events")
async def schedule_events(
    request: Request, services: ServicesDep, project: PageProjectDep, found: PageScheduleDep, page: Number = 1
) -> Response:
    """Changes of that page."""
    topics = (project_topic(project.row.id), schedule_topic(found.row.id))
    return await event_stream(
        request, services, project.caller, lambda: draw(services, project, found.row.id, page), *topics
    )


@router.post("/{schedule_id}/play", dependencies=[Depends(require_our_pages)])
async def play(services: ServicesDep, found: PageScheduleDep) -> Response:
    """The button that makes a pipeline now."""
    await changing.play(services, found)
    return RedirectResponse(address(found.project), 303)


@router.post("/{schedule_id}/take_ownership", dependencies=[Depends(require_our_pages)])
async def take_ownership(services: ServicesDep, found: PageScheduleDep) -> Response:
    """The button that makes a schedule the caller's."""
    await changing.take_over(services, found)
    return RedirectResponse(address(found.project), 303)


@router.post("/{schedule_id}/activate", dependencies=[Depends(require_our_pages)])
async def activate(services: ServicesDep, found: PageScheduleDep) -> Response:
    """The switch that lets a schedule tick."""
    await changing.change(services, found, ScheduleFields(active=True))
    return RedirectResponse(address(found.project), 303)


@router.post("/{schedule_id}/deactivate", dependencies=[Depends(require_our_pages)])
async def deactivate(services: ServicesDep, found: PageScheduleDep) -> Response:
    """The switch that lets it tick no more."""
    await changing.change(services, found, ScheduleFields(active=False))
    return RedirectResponse(address(found.project), 303)


@router.post("/{schedule_id}/delete", dependencies=[Depends(require_our_pages)])
async def delete(services: ServicesDep, found: PageScheduleDep) -> Response:
    """The button that deletes a schedule."""
    await changing.remove(services, found)
    return RedirectResponse(address(found.project), 303)
