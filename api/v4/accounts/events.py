"""Events: what people did to projects, by person, by project, or of one's own."""

from dataclasses import replace
from datetime import date
from typing import Annotated, Literal

from fastapi import Depends
from fastapi.responses import JSONResponse

from api.deps import CallerDep, ServicesDep
from api.routes import RouteList
from api.services import Services
from api.v4.access import KnownCallerDep, SeenProjectDep
from api.v4.encoded_paths import decoded
from api.v4.pagination import Paging, PagingDep
from api.v4.representation.events import EventResponse
from api.v4.representation.events import event as shown
from application.access import viewer_of
from auth.permissions import Caller
from domain.decimal_number import decimal_number
from domain.errors import Invalid, NotFound
from domain.projects.contributions import TARGETS, Action
from models.repositories.accounts import accounts
from models.repositories.paging import slice_of
from models.repositories.pipelines import contributions
from models.repositories.pipelines.contributions import ContributionFilter
from models.repositories.projects import relations
from models.rows.accounts import UserRow

router = RouteList()


def _day(name: str, text: str) -> date | None:
    try:
        return date.fromisoformat(text[:10]) if text else None
    except ValueError as error:
        raise Invalid(f"{name} is invalid: give a day as YYYY-MM-DD.") from error


async def filter_of(
    action: str = "",
    target_type: str = "",
    before: str = "",
    after: str = "",
    sort: Literal["asc", "desc"] = "desc",
) -> ContributionFilter:
    """Which events a call wants; the days of `before` and `after` themselves are left out. Raises `Invalid`."""
    if action and action not in set(Action):
        raise Invalid("action does not have a valid value")
    if target_type and target_type not in TARGETS:
        raise Invalid("target_type does not have a valid value")
    return ContributionFilter(
        action=action,
        target_type=TARGETS.get(target_type, ""),
        before=_day("before", before),
        after=_day("after", after),
        ascending=sort == "asc",
    )


FilterDep = Annotated[ContributionFilter, Depends(filter_of)]


async def _page(services: Services, caller: Caller, wanted: ContributionFilter, paging: Paging) -> JSONResponse:
    viewer = viewer_of(caller)
    async with services.database.read() as connection:
        found = await slice_of(connection, contributions.listed(wanted, viewer), paging.number, paging.size)
        people = await relations.users(connection, (row.author_id for row in found.rows))
    url = services.settings.url
    return paging.response([shown(row, people[row.author_id], url) for row in found.rows], found.total)


@router.get("/events", response_model=list[EventResponse])
async def own_events(
    caller: KnownCallerDep, services: ServicesDep, paging: PagingDep, wanted: FilterDep, scope: str = ""
) -> JSONResponse:
    """What the caller did; with `scope=all` what anybody did in projects that they are a member of."""
    if scope == "all":
        return await _page(services, caller, replace(wanted, joined_by=caller.user_id), paging)
    return await _page(services, caller, replace(wanted, author_id=caller.user_id), paging)


@router.get("/users/{user_id}/events", response_model=list[EventResponse])
async def events_of_user(
    user_id: str, caller: CallerDep, services: ServicesDep, paging: PagingDep, wanted: FilterDep
) -> JSONResponse:
    """What a person, by id or name, did in projects that the caller may see."""
    person = await _person(services, decoded(user_id))
    return await _page(services, caller, replace(wanted, author_id=person.id), paging)


async def _person(services: Services, reference: str) -> UserRow:
    key = decimal_number(reference)
    async with services.database.read() as connection:
        if key is not None:
            return await accounts.get(connection, key)
        row = await accounts.by_username(connection, reference)
    if row is None:
        raise NotFound("User Not Found")
    return row


@router.get("/projects/{project}/events", response_model=list[EventResponse])
async def events_of_project(
    project: SeenProjectDep, services: ServicesDep, paging: PagingDep, wanted: FilterDep
) -> JSONResponse:
    """What was done to a project: to guests of a private one, only who came and went."""
    return await _page(services, project.caller, replace(wanted, project_id=project.row.id), paging)
