"""Runners as their administrators see them; what runners themselves call is in `api.runner`."""

from typing import Annotated, Any, TypeAlias

from fastapi import Depends, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from api.deps import ServicesDep
from api.routes import RouteList
from api.services import Services
from api.v4.access import KnownCallerDep
from api.v4.pagination import PagingDep
from api.v4.parameters import given
from api.v4.projects.documents import documents
from api.v4.representation.groups import group
from api.v4.representation.runners import (
    AdministeredRunnerResponse,
    ListedRunnerResponse,
    RunnerDetailsResponse,
    RunnerManagerResponse,
    RunnerTokenResponse,
    issued_token,
    runner_details,
    runner_manager,
)
from api.v4.runners.access import RunnerAccess, RunnerDep
from api.v4.runners.lists import RunnerListDep, listed
from application.runners.parameters import AccessLevel, Note, Tags, Timeout, check_tags
from application.runners.registration_tokens import renewed
from application.runners.tokens import renew_token
from auth.permissions import MAINTAINER, RunnerAction, require_admin
from domain.errors import NotFound
from domain.runners.matching import RunnerType
from domain.runners.status import Holds
from models.notifications import RUNNERS
from models.repositories import database_time
from models.repositories.namespaces import namespaces
from models.repositories.runners import runner_listings, runners
from models.repositories.runners.registration_tokens import RunnerScope

router = RouteList(prefix="/runners")

_Whole: TypeAlias = AdministeredRunnerResponse | RunnerDetailsResponse


class RunnerChange(BaseModel):
    """Parameters of `PUT /runners/:id`; what is left out stays."""

    description: Note | None = None
    active: bool | None = None
    paused: bool | None = None
    tag_list: Tags | None = None
    run_untagged: bool | None = None
    locked: bool | None = None
    access_level: AccessLevel | None = None
    maximum_timeout: Timeout | None = None
    maintenance_note: Note | None = None
    as_server: bool | None = None

    def columns(self) -> dict[str, Any]:
        """The columns to write."""
        same = {"description", "paused", "run_untagged", "locked", "maximum_timeout", "maintenance_note", "as_server"}
        values = {name: getattr(self, name) for name in same & self.model_fields_set}
        if self.active is not None and self.paused is None:
            values["paused"] = not self.active
        if self.tag_list is not None:
            values["tags"] = self.tag_list
        if self.access_level is not None:
            values["ref_protected"] = self.access_level == "ref_protected"
        may_be_null = {"maximum_timeout"}
        return {name: value for name, value in values.items() if value is not None or name in may_be_null}


@router.get("", response_model=list[ListedRunnerResponse])
async def list_runners(
    caller: KnownCallerDep, services: ServicesDep, paging: PagingDep, wishes: RunnerListDep
) -> JSONResponse:
    """The group and project runners that work for projects which the caller maintains."""
    return await listed(services, paging, runner_listings.of_person(caller.user_id, MAINTAINER), wishes)


@router.get("/all", response_model=list[ListedRunnerResponse])
async def list_all_runners(
    caller: KnownCallerDep, services: ServicesDep, paging: PagingDep, wishes: RunnerListDep
) -> JSONResponse:
    """Every runner of this pod, for administrators."""
    require_admin(caller)
    return await listed(services, paging, runner_listings.everything(), wishes)


@router.post("/reset_registration_token", status_code=201)
async def reset_registration_token(caller: KnownCallerDep, services: ServicesDep) -> RunnerTokenResponse:
    """A new token with which instance runners register."""
    require_admin(caller)
    return issued_token(await renewed(services, RunnerScope()))


@router.get("/{runner_id}")
async def get_runner(found: RunnerDep, services: ServicesDep) -> _Whole:
    """One runner."""
    return await _details(services, found)


@router.put("/{runner_id}")
async def change_runner(
    change: Annotated[RunnerChange, Depends(given(RunnerChange))], found: RunnerDep, services: ServicesDep
) -> _Whole:
    """Change a runner; it sees other jobs with its next request.

    Whether its jobs run as the server's own user (`as_server`) is for administrators to say.
    """
    found.require(RunnerAction.CHANGE)
    values = change.columns()
    if "as_server" in values:
        require_admin(found.caller)
    async with services.database.write() as connection:
        before = await runners.held(connection, found.row.id)
        if before is None:
            raise NotFound("Runner Not Found")
        check_tags(values.get("tags", before.tags), run_untagged=values.get("run_untagged", before.run_untagged))
        await runners.change(connection, before.id, **values)
    await services.notifications.tell(RUNNERS)
    return await _details(services, found)


@router.delete("/{runner_id}", status_code=204)
async def remove_runner(found: RunnerDep, services: ServicesDep) -> Response:
    """Remove a runner: its token is worth nothing from now on, while a job that it holds goes on to its end."""
    found.require(RunnerAction.CHANGE)
    async with services.database.write() as connection:
        await runners.remove(connection, found.row.id)
    await services.notifications.tell(RUNNERS)
    return Response(status_code=204)


@router.post("/{runner_id}/reset_authentication_token", status_code=201)
async def reset_authentication_token(found: RunnerDep, services: ServicesDep) -> RunnerTokenResponse:
    """A new token for a runner; the one before is worth nothing at once."""
    found.require(RunnerAction.CHANGE)
    return issued_token(await renew_token(services, found.row))


@router.get("/{runner_id}/managers")
async def list_managers(found: RunnerDep, services: ServicesDep) -> list[RunnerManagerResponse]:
    """The processes of a runner, the one that called last first."""
    async with services.database.read() as connection:
        rows = await runners.managers_of(connection, found.row.id)
        ticks = services.settings.times.ticks_until_unresponsive
        holding = await runner_listings.holding_processes(connection, [found.row.id], ticks)
        now = await database_time.moment(connection)
    return [runner_manager(row, now, holding.get((found.row.id, row.system_id), Holds.NOTHING)) for row in rows]


async def _details(services: Services, found: RunnerAccess) -> _Whole:
    """A runner as it is now, with those of its projects of which the caller is a member."""
    url, member_id = services.settings.url, None if found.caller.is_admin else found.caller.user_id
    async with services.database.read() as connection:
        row = await runners.get(connection, found.row.id)
        if row is None:
            raise NotFound("Runner Not Found")
        newest = next(iter(await runners.managers_of(connection, row.id)), None)
        ticks = services.settings.times.ticks_until_unresponsive
        holding = await runner_listings.holding(connection, [row.id], ticks)
        now = await database_time.moment(connection)
        linked = await runners.projects_of(connection, row.id, member_id)
        instance = row.organisation_id is None
        owner = None if instance else await namespaces.get_by(connection, key=row.namespace_id or row.organisation_id)
        shown = await documents(services, connection, found.caller, linked)
    groups = [group(owner, url)] if owner is not None and row.runner_type == RunnerType.GROUP else []
    details = runner_details(row, newest, shown, groups, now, holding.get(row.id, Holds.NOTHING))
    return {**details, "as_server": row.as_server} if found.caller.is_admin else details
