"""Runners as their administrators see them; what runners themselves call is in `api.runner`."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from api.deps import ServicesDep, access_to
from api.services import Services
from api.v4.access import Id, KnownCallerDep
from api.v4.pagination import Paging, PagingDep
from api.v4.parameters import given
from api.v4.representation.projects import project
from api.v4.representation.runners import runner, runner_details
from api.v4.user_runners import AccessLevel, Tags, Timeout, check_tags
from auth.permissions import MAINTAINER, Action, Caller, require_admin
from domain.errors import NotFound
from models.columns import Record
from models.notifications import JOBS
from models.repositories import projects, runners
from models.repositories.listings import newest_managers
from models.repositories.listings import runners as listed
from models.repositories.paging import slice_of

router = APIRouter(prefix="/runners")

Kind = Literal["", "instance_type", "group_type", "project_type"]


class RunnerChange(BaseModel):
    """Parameters of `PUT /runners/:id`; what is left out stays."""

    description: str | None = Field(default=None, max_length=1024)
    active: bool | None = None
    paused: bool | None = None
    tag_list: Tags | None = None
    run_untagged: bool | None = None
    locked: bool | None = None
    access_level: AccessLevel | None = None
    maximum_timeout: Timeout | None = None
    maintenance_note: str | None = Field(default=None, max_length=1024)

    def columns(self) -> dict[str, Any]:
        """The columns to write."""
        same = {"description", "paused", "run_untagged", "locked", "maximum_timeout", "maintenance_note"}
        values = {name: getattr(self, name) for name in same & self.model_fields_set}
        if self.active is not None and self.paused is None:
            values["paused"] = not self.active
        if self.tag_list is not None:
            values["tags"] = self.tag_list
        if self.access_level is not None:
            values["ref_protected"] = self.access_level == "ref_protected"
        may_be_null = {"maximum_timeout"}
        return {name: value for name, value in values.items() if value is not None or name in may_be_null}


@router.get("")
async def list_runners(
    caller: KnownCallerDep,
    services: ServicesDep,
    paging: PagingDep,
    type: Kind = "",  # noqa: A002
) -> JSONResponse:
    """The runners of projects that the caller maintains."""
    return await _list(services, paging, caller.user_id, type)


@router.get("/all")
async def list_all_runners(
    caller: KnownCallerDep,
    services: ServicesDep,
    paging: PagingDep,
    type: Kind = "",  # noqa: A002
) -> JSONResponse:
    """Every runner, for administrators."""
    require_admin(caller)
    return await _list(services, paging, None, type)


async def _list(services: Services, paging: Paging, user_id: int | None, kind: str) -> JSONResponse:
    async with services.database.read() as connection:
        found = await slice_of(connection, listed(user_id, MAINTAINER, kind), paging.number, paging.size)
    return paging.answer([runner(row, services.clock()) for row in found.rows], found.total)


@router.get("/{runner_id}")
async def get_runner(runner_id: Id, caller: KnownCallerDep, services: ServicesDep) -> dict[str, Any]:
    """One runner."""
    return await _details(services, await _administered(services, caller, runner_id))


@router.put("/{runner_id}")
async def change_runner(
    runner_id: Id,
    change: Annotated[RunnerChange, Depends(given(RunnerChange))],
    caller: KnownCallerDep,
    services: ServicesDep,
) -> dict[str, Any]:
    """Change a runner; it sees other jobs with its next request."""
    before = await _administered(services, caller, runner_id)
    values = change.columns()
    check_tags(values.get("tags", before.tags), run_untagged=values.get("run_untagged", before.run_untagged))
    async with services.database.write() as connection:
        await runners.change(connection, runner_id, **values)
    await services.notifications.notify(JOBS)
    return await _details(services, await _administered(services, caller, runner_id))


@router.delete("/{runner_id}", status_code=204)
async def remove_runner(runner_id: Id, caller: KnownCallerDep, services: ServicesDep) -> Response:
    """Remove a runner; its token is worth nothing from now on."""
    await _administered(services, caller, runner_id)
    async with services.database.write() as connection:
        await runners.remove(connection, runner_id)
    return Response(status_code=204)


async def _administered(services: Services, caller: Caller, runner_id: int) -> Record:
    """A runner that the caller administers. Raises `NotFound`, `Forbidden`."""
    async with services.database.read() as connection:
        row = await runners.get(connection, runner_id)
    if row is None:
        raise NotFound("404 Runner Not Found")
    if row.project_id is None:
        require_admin(caller)
    else:
        (await access_to(services, caller, row.project_id)).require(Action.ADMINISTER)
    return row


async def _details(services: Services, row: Record) -> dict[str, Any]:
    held: list[dict[str, Any]] = []
    async with services.database.read() as connection:
        newest = (await newest_managers(connection, [row.id])).get(row.id)
        owner = await projects.find(connection, row.project_id) if row.project_id is not None else None
        if owner is not None:
            organisation = await projects.organisation_by(connection, key=owner.organisation_id)
            held.append(project(owner, organisation, services.settings.url))
    return runner_details(row, newest, held, services.clock())
