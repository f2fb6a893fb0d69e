"""Merge trains: which merge requests are on them, putting one on, taking one off."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from fastapi import Depends, Response
from fastapi.responses import JSONResponse

from api.deps import ServicesDep
from api.routes import RouteList
from api.services import Services
from api.v4.access import Id, ProjectDep
from api.v4.encoded_paths import decoded
from api.v4.merge_requests.access import MergeRequestAccess, MergeRequestDep
from api.v4.merge_requests.merging import Merging, check_sha, options_of, set_auto_merge
from api.v4.pagination import Paging, PagingDep
from api.v4.parameters import Optionals, given
from api.v4.representation.merge_requests import Around, people_of
from api.v4.representation.merge_trains import TrainCarResponse, train_car
from application.access import ProjectAccess
from application.audit import record
from application.merge_requests.merging import CANNOT
from application.merge_requests.standing import assess
from application.merge_requests.telling import tell
from application.merge_requests.wishes import require_merge
from auth.permissions import Action
from domain.errors import Forbidden, NotAllowed, NotFound, Refused, Unmergeable
from domain.merge_requests.merge_request import OF_CI, OF_GIT, AutoMerge, Blocker, State, blockers
from domain.merge_requests.merge_train import ON_THE_WAY
from models.notifications import MERGES, OUTBOX
from models.repositories.installation.audit import Happened
from models.repositories.merge_requests import merge_requests, trains
from models.repositories.paging import every_of, slice_of
from models.repositories.pipelines.pipelines import by_ids
from models.repositories.projects import relations
from models.rows.merge_requests import TrainCarRow

router = RouteList(prefix="/projects/{project}/merge_trains")

Scope = Literal["", "active", "complete"]


class Boarding(Optionals):
    """Parameters of `POST .../merge_trains/merge_requests/:iid`."""

    sha: str = ""
    squash: bool | None = None
    when_pipeline_succeeds: bool = False
    auto_merge: bool = False


def _require_trains(project: ProjectAccess, action: Action) -> None:
    project.require(action)
    if not project.row.merge_trains_enabled:
        raise Forbidden("Forbidden: the project has no merge trains; set merge_trains_enabled.")


@router.get("", response_model=list[TrainCarResponse])
async def list_trains(
    project: ProjectDep,
    services: ServicesDep,
    paging: PagingDep,
    scope: Scope = "",
    sort: Literal["asc", "desc"] = "desc",
) -> JSONResponse:
    """The cars of all trains of a project."""
    _require_trains(project, Action.INSPECT)
    return await _page(services, project, paging, "", scope, ascending=sort == "asc")


@router.get("/merge_requests/{iid}")
async def get_car(iid: Id, project: ProjectDep, services: ServicesDep) -> TrainCarResponse:
    """Where a merge request is on its train."""
    _require_trains(project, Action.INSPECT)
    async with services.database.read() as connection:
        row = await merge_requests.find(connection, project.row.id, iid)
        car = await trains.get(connection, row.id)
    return (await _shown(services, project, [car]))[0]


@router.get("/{branch}", response_model=list[TrainCarResponse])
async def list_train(
    branch: str,
    project: ProjectDep,
    services: ServicesDep,
    paging: PagingDep,
    scope: Scope = "",
    sort: Literal["asc", "desc"] = "asc",
) -> JSONResponse:
    """The cars of the train of one target branch."""
    _require_trains(project, Action.INSPECT)
    return await _page(services, project, paging, decoded(branch), scope, ascending=sort == "asc")


async def _page(
    services: Services, project: ProjectAccess, paging: Paging, branch: str, scope: str, *, ascending: bool
) -> JSONResponse:
    statement = trains.listed(project.row.id, branch=branch, scope=scope, ascending=ascending)
    async with services.database.read() as connection:
        found = await slice_of(connection, statement, paging.number, paging.size)
    return paging.response(await _shown(services, project, found.rows), found.total)


async def _shown(services: Services, project: ProjectAccess, cars: Sequence[TrainCarRow]) -> list[TrainCarResponse]:
    async with services.database.read() as connection:
        found = [(car, await merge_requests.get(connection, car.merge_request_id)) for car in cars]
        known = [(car, row) for car, row in found if row is not None]
        people = await relations.users(connection, people_of(row for _, row in known) | {car.user_id for car in cars})
        pipelines = {row.id: row for row in await by_ids(connection, [c.pipeline_id for c in cars if c.pipeline_id])}
    around = Around(services.settings.url, people, {project.row.id: project.row})
    return [
        train_car(car, row, around, None if car.pipeline_id is None else pipelines.get(car.pipeline_id))
        for car, row in known
    ]


@router.post("/merge_requests/{iid}", status_code=201, response_model=list[TrainCarResponse])
async def put_on_train(
    asked: Annotated[Boarding, Depends(given(Boarding))], found: MergeRequestDep, services: ServicesDep
) -> JSONResponse:
    """Put a merge request at the end of the train of its target branch; answers with the train.

    With `auto_merge` it is put on when its pipeline has passed, and the response is 202. Answers 401 to those who may
    not merge, 405 while something stands in the way, 422 when the branches do not go together, 409 when `sha` is not
    the head of the source branch or it is on the train already.
    """
    _require_trains(found.project, Action.PUSH)
    await require_merge(found.project, found.row.target_branch)
    standing = (await assess(services, found.here)).standing
    later = asked.auto_merge or asked.when_pipeline_succeeds
    waits = later and standing.is_running
    in_the_way = frozenset(blockers(standing)) - {Blocker.NEEDS_REBASE} - (OF_CI if waits else frozenset())
    if in_the_way - OF_GIT or (later and not waits and standing.pipeline in {"failed", "canceled"}):
        raise NotAllowed(f"Method Not Allowed: {', '.join(sorted(in_the_way)) or standing.pipeline}")
    if in_the_way:
        raise Unmergeable(CANNOT)
    check_sha(found, asked.sha)
    options = options_of(found, Merging(squash=asked.squash))
    if waits:
        await set_auto_merge(services, found, AutoMerge.TRAIN, options)
        return JSONResponse(await _train(services, found), 202)
    await _put_on(services, found, {name: getattr(options, name) for name in options.__slots__})
    return JSONResponse(await _train(services, found), 201)


async def _put_on(services: Services, found: MergeRequestAccess, options: dict[str, Any]) -> None:
    now, user_id = services.clock(), found.project.caller.user_id
    async with services.database.write() as connection:
        row = await merge_requests.lock(connection, found.row.id)
        if row is None or row.state != State.OPENED or row.head_sha != found.row.head_sha:
            raise Refused("SHA does not match HEAD of source branch: it has changed meanwhile")
        await trains.put_on(connection, row, user_id, options, now)
        await merge_requests.change(connection, row.id, now, auto_merge=AutoMerge.NONE, merge_error="")
        happened = Happened("merge_train_joined", {"iid": row.iid, "target_branch": row.target_branch})
        await record(connection, found.project.caller, found.project.entity, happened, now)
    await services.notifications.notify(MERGES)
    await tell(services, found.row.id, found.row.project_id)


async def _train(services: Services, found: MergeRequestAccess) -> list[TrainCarResponse]:
    wanted = trains.listed(found.project.row.id, branch=found.row.target_branch, scope="active", ascending=True)
    async with services.database.read() as connection:
        cars = await every_of(connection, wanted)
    return await _shown(services, found.project, cars)


@router.delete("/merge_requests/{iid}", status_code=204)
async def take_off_train(found: MergeRequestDep, services: ServicesDep) -> Response:
    """Take a merge request off its train; what is behind it is tested anew. Answers 405 while it is being merged."""
    _require_trains(found.project, Action.PUSH)
    now = services.clock()
    async with services.database.write() as connection:
        row = await merge_requests.lock(connection, found.row.id)
        if row is not None and row.state == State.LOCKED:
            raise NotAllowed("Method Not Allowed: it is being merged at this moment.")
        car = await trains.of_merge_request(connection, found.row.id, on_the_way=True)
        if car is None or car.status not in ON_THE_WAY:
            raise NotFound("Merge Train Merge Request Not Found")
        await trains.leave(connection, found.row.id, now, f"by {found.project.caller.username}")
        happened = Happened("merge_train_left", {"iid": found.row.iid, "target_branch": found.row.target_branch})
        await record(connection, found.project.caller, found.project.entity, happened, now)
    for topic in (MERGES, OUTBOX):
        await services.notifications.notify(topic)
    await tell(services, found.row.id, found.row.project_id)
    return Response(status_code=204)
