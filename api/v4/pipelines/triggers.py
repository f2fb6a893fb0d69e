"""Trigger tokens of a project, under GitLab's addresses and shapes.

A token is shown once, when it is made; afterwards its first characters tell it from others.
"""

from datetime import UTC, datetime
from typing import Annotated, Any, Final

from fastapi import Depends, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field, field_validator
from typing_extensions import TypedDict

from api.deps import ServicesDep
from api.routes import RouteList
from api.services import Services
from api.v4.access import Id, ProjectDep
from api.v4.pagination import PagingDep
from api.v4.parameters import given
from api.v4.representation.people import Person, PersonResponse, person
from application.accounts.token_chains import maker_of
from application.audit import record
from auth.permissions import Action
from auth.routable_token import trigger_token
from auth.secret_token import digest
from domain.errors import FieldsInvalid, Forbidden
from domain.moments import moment
from domain.pods.token_prefixes import TRIGGER
from models.repositories.accounts import accounts
from models.repositories.installation.audit import Happened
from models.repositories.paging import slice_of
from models.repositories.projects import relations, triggers
from models.rows.triggers import PipelineTriggerRow

SHORT: Final = 4
"""Characters of a token, after its prefix, that are kept and shown; as many as GitLab shows."""

router = RouteList(prefix="/projects/{project}/triggers")


class NewTrigger(BaseModel):
    """Parameters of `POST /projects/:id/triggers`."""

    description: str = Field(max_length=255)
    expires_at: datetime | None = None

    @field_validator("expires_at")
    @classmethod
    def _has_zone(cls, value: datetime | None) -> datetime | None:
        return value if value is None or value.tzinfo is not None else value.replace(tzinfo=UTC)


class TriggerChanges(BaseModel):
    """Parameters of `PUT /projects/:id/triggers/:trigger_id`."""

    description: str | None = Field(default=None, max_length=255)


class TriggerResponse(TypedDict):
    """A trigger; `token` is the token itself only in the one response that shows it."""

    id: int
    token: str
    description: str
    created_at: str
    updated_at: str
    deleted_at: str | None
    last_used: str | None
    expires_at: str | None
    owner: PersonResponse


def shown(row: PipelineTriggerRow, owner: Person, url: str, *, plain: str = "") -> TriggerResponse:
    """A trigger as GitLab's JSON; `plain` is the token itself, in the one response that shows it."""
    return {
        "id": row.id,
        "token": plain or row.short_token,
        "description": row.description,
        "created_at": moment(row.created_at),
        "updated_at": moment(row.updated_at),
        "deleted_at": None,
        "last_used": moment(row.last_used_at),
        "expires_at": moment(row.expires_at),
        "owner": person(owner, url),
    }


@router.get("", response_model=list[TriggerResponse])
async def list_triggers(project: ProjectDep, services: ServicesDep, paging: PagingDep) -> JSONResponse:
    """The triggers of a project; maintainers may see them."""
    project.require(Action.ADMINISTER)
    async with services.database.read() as connection:
        found = await slice_of(connection, triggers.of_project(project.row.id), paging.number, paging.size)
        owners = await relations.users(connection, (row.owner_id for row in found.rows))
    return paging.response([shown(row, owners[row.owner_id], services.settings.url) for row in found.rows], found.total)


@router.get("/{trigger_id}")
async def get_trigger(trigger_id: Id, project: ProjectDep, services: ServicesDep) -> TriggerResponse:
    """One trigger."""
    project.require(Action.ADMINISTER)
    return await _one(services, trigger_id, project.row.id)


@router.post("", status_code=201)
async def create_trigger(
    new: Annotated[NewTrigger, Depends(given(NewTrigger))], project: ProjectDep, services: ServicesDep
) -> TriggerResponse:
    """Make a trigger; its token is shown only in this response. Its pipelines will be the caller's."""
    project.require(Action.ADMINISTER)
    now, row = services.clock(), project.row
    plain = trigger_token(services.settings.pod_number, row.organisation_id, row.id)
    if new.expires_at is not None and new.expires_at <= now:
        raise FieldsInvalid(expires_at="is invalid: must be a time to come")
    values: dict[str, Any] = {
        "description": new.description,
        "token_hash": digest(plain),
        "names_pod": True,
        "short_token": plain.removeprefix(TRIGGER)[:SHORT],
    }
    async with services.database.write() as connection:
        maker = await maker_of(connection, project.caller)
        values |= {"expires_at": maker.last_moment(new.expires_at), "maker_id": maker.id}
        key = await triggers.add(connection, row.id, project.caller.user_id, now, **values)
        happened = Happened("trigger_created", {"id": key, "description": new.description})
        await record(connection, project.caller, project.entity, happened, now)
    return await _one(services, key, row.id, plain=plain)


@router.put("/{trigger_id}")
async def change_trigger(
    trigger_id: Id,
    changes: Annotated[TriggerChanges, Depends(given(TriggerChanges))],
    project: ProjectDep,
    services: ServicesDep,
) -> TriggerResponse:
    """Call a trigger otherwise; only who owns it may, as in GitLab."""
    project.require(Action.ADMINISTER)
    now = services.clock()
    async with services.database.write() as connection:
        row = await triggers.get(connection, trigger_id, project.row.id)
        if row.owner_id != project.caller.user_id and not project.caller.is_admin:
            raise Forbidden("Forbidden: only the owner of a trigger may change it.")
        if changes.description is not None:
            await triggers.describe(connection, trigger_id, changes.description, now)
            happened = Happened("trigger_changed", {"id": trigger_id, "description": changes.description})
            await record(connection, project.caller, project.entity, happened, now)
    return await _one(services, trigger_id, project.row.id)


@router.delete("/{trigger_id}", status_code=204)
async def remove_trigger(trigger_id: Id, project: ProjectDep, services: ServicesDep) -> Response:
    """Remove a trigger: its token starts nothing from now on."""
    project.require(Action.ADMINISTER)
    async with services.database.write() as connection:
        row = await triggers.get(connection, trigger_id, project.row.id)
        await triggers.remove(connection, trigger_id)
        happened = Happened("trigger_removed", {"id": trigger_id, "description": row.description})
        await record(connection, project.caller, project.entity, happened, services.clock())
    return Response(status_code=204)


async def _one(services: Services, trigger_id: int, project_id: int, *, plain: str = "") -> TriggerResponse:
    async with services.database.read() as connection:
        row = await triggers.get(connection, trigger_id, project_id)
        owner = await accounts.get(connection, row.owner_id)
    return shown(row, owner, services.settings.url, plain=plain)
