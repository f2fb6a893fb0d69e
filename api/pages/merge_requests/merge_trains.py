"""The page of a project's merge trains: what is on its way to each target branch, in order."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from fastapi import Request
from fastapi.responses import Response

from api.deps import ServicesDep
from api.pages.frame.access import PREFIX, PageProjectDep
from api.pages.frame.live import event_stream
from api.pages.frame.live_parts import Fragment
from api.pages.frame.responses import live_page
from api.pages.frame.templates import fragment
from api.pages.merge_requests.look import ShownCar
from api.pages.merge_requests.words import CARS
from api.routes import RouteList
from api.services import Services
from application.access import ProjectAccess, access_to
from models.notifications import merge_requests_topic
from models.repositories.merge_requests import merge_request_overviews, trains
from models.repositories.paging import slice_of
from models.repositories.projects import relations
from models.rows.merge_requests import MergeRequestRow, TrainCarRow

MAX_TRAINS = 50
MAX_ARRIVED = 20
"""Cars that have arrived and are shown."""

router = RouteList(prefix=f"{PREFIX}/-/merge_trains")


@dataclass(frozen=True, slots=True)
class ShownTrain:
    """The cars on their way to a branch, in order."""

    branch: str
    cars: Sequence[ShownCar]


@dataclass(frozen=True, slots=True)
class Arrived:
    """A car that has arrived, with its merge request."""

    car: TrainCarRow
    row: MergeRequestRow


async def draw(services: Services, project: ProjectAccess) -> Fragment:
    """The trains as the caller may see them now."""
    project = await access_to(services, project.caller, project.row.id)
    key = project.row.id
    async with services.database.read() as connection:
        branches = [one.target_branch for one in await trains.trains(connection) if one.project_id == key]
        cars = [car for branch in branches[:MAX_TRAINS] for car in await trains.cars(connection, key, branch)]
        arrived = await slice_of(connection, trains.listed(key, scope="complete"), 1, MAX_ARRIVED)
        ids = [car.merge_request_id for car in (*cars, *arrived.rows)]
        rows = await merge_request_overviews.by_ids(connection, ids)
        people = await relations.users(connection, {car.user_id for car in (*cars, *arrived.rows)})
    by_branch: defaultdict[str, list[ShownCar]] = defaultdict(list)
    for car in cars:
        if car.merge_request_id in rows:
            by_branch[car.target_branch].append(ShownCar(car, rows[car.merge_request_id]))
    return fragment(
        "merge_requests/_trains.html",
        project=project.row,
        trains=[ShownTrain(branch, found) for branch, found in by_branch.items()],
        arrived=[Arrived(car, rows[car.merge_request_id]) for car in arrived.rows if car.merge_request_id in rows],
        people=people,
        cars=CARS,
    )


@router.get("")
async def trains_page(request: Request, services: ServicesDep, project: PageProjectDep) -> Response:
    """The merge trains of a project."""
    live = await draw(services, project)
    events = f"/{project.row.full_path}/-/merge_trains/events"
    return live_page("merge_requests/trains.html", request, project.caller, live, events, project=project.row)


@router.get("/events")
async def trains_events(request: Request, services: ServicesDep, project: PageProjectDep) -> Response:
    """Changes of them."""
    topic = merge_requests_topic(project.row.id)
    return await event_stream(request, services, project.caller, lambda: draw(services, project), topic)
