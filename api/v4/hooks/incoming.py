"""Hooks by which forges tell a project of pushes and pull requests (our own shape; GitLab has integrations for it)."""

import base64
import secrets
from typing import Annotated, NotRequired

from fastapi import Depends, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from api.deps import ServicesDep
from api.routes import RouteList
from api.services import Services
from api.v4.access import Id, ProjectDep
from api.v4.pagination import PagingDep
from api.v4.parameters import given
from application.access import ProjectAccess
from application.audit import record
from auth.permissions import Action
from domain.hooks.incoming import SIGNING, Forge
from domain.moments import moment
from models.repositories.hooks import incoming_hooks
from models.repositories.installation.audit import Happened
from models.repositories.paging import slice_of
from models.rows.incoming_hooks import IncomingHookRow

router = RouteList(prefix="/projects/{project}/incoming_hooks")


class NewHook(BaseModel):
    """Parameters of `POST /projects/:id/incoming_hooks`."""

    forge: Forge
    description: str = Field(default="", max_length=255)


class IncomingHookResponse(TypedDict):
    """A hook; its secret is there in the responses that show it, once."""

    id: int
    forge: str
    description: str
    url: str
    user_id: int
    created_at: str
    rotated_at: str | None
    last_delivery_at: str | None
    secret: NotRequired[str]


def shown(row: IncomingHookRow, url: str, *, secret: str = "") -> IncomingHookResponse:
    """A hook; `secret` is there in the responses that show it, once."""
    document: IncomingHookResponse = {
        "id": row.id,
        "forge": row.forge,
        "description": row.description,
        "url": f"{url}/api/hooks/{row.id}",
        "user_id": row.user_id,
        "created_at": moment(row.created_at),
        "rotated_at": moment(row.rotated_at),
        "last_delivery_at": moment(row.last_delivery_at),
    }
    if secret:
        document["secret"] = secret
    return document


def _new_secret(services: Services, project: ProjectAccess) -> tuple[str, str]:
    """A fresh secret, plain and sealed; it does for every way to sign."""
    plain = SIGNING + base64.b64encode(secrets.token_bytes(32)).decode()
    return plain, services.sealer.seal(plain, incoming_hooks.purpose(project.row.id))


@router.get("", response_model=list[IncomingHookResponse])
async def list_hooks(project: ProjectDep, services: ServicesDep, paging: PagingDep) -> JSONResponse:
    """The hooks of a project, without their secrets; maintainers may see them."""
    project.require(Action.ADMINISTER)
    async with services.database.read() as connection:
        found = await slice_of(connection, incoming_hooks.of_project(project.row.id), paging.number, paging.size)
    return paging.response([shown(row, services.settings.url) for row in found.rows], found.total)


@router.post("", status_code=201)
async def create_hook(
    new: Annotated[NewHook, Depends(given(NewHook))], project: ProjectDep, services: ServicesDep
) -> IncomingHookResponse:
    """Set up a hook; its secret is shown only in this response. What it starts will be the caller's."""
    project.require(Action.ADMINISTER)
    now = services.clock()
    plain, sealed = _new_secret(services, project)
    values = {"project_id": project.row.id, "user_id": project.caller.user_id, "secret": sealed}
    async with services.database.write() as connection:
        key = await incoming_hooks.add(connection, now, forge=new.forge, description=new.description, **values)
        happened = Happened("incoming_hook_created", {"id": key, "forge": new.forge})
        await record(connection, project.caller, project.entity, happened, now)
        row = await incoming_hooks.get(connection, key, project.row.id)
    return shown(row, services.settings.url, secret=plain)


@router.post("/{hook_id}/rotate")
async def rotate_secret(hook_id: Id, project: ProjectDep, services: ServicesDep) -> IncomingHookResponse:
    """A new secret in the place of the old one, which is worth nothing from now on; the hook becomes the caller's."""
    project.require(Action.ADMINISTER)
    now = services.clock()
    plain, sealed = _new_secret(services, project)
    async with services.database.write() as connection:
        await incoming_hooks.get(connection, hook_id, project.row.id)
        values = {"secret": sealed, "rotated_at": now, "user_id": project.caller.user_id}
        await incoming_hooks.change(connection, hook_id, **values)
        await record(
            connection, project.caller, project.entity, Happened("incoming_hook_rotated", {"id": hook_id}), now
        )
        row = await incoming_hooks.get(connection, hook_id, project.row.id)
    return shown(row, services.settings.url, secret=plain)


@router.delete("/{hook_id}", status_code=204)
async def remove_hook(hook_id: Id, project: ProjectDep, services: ServicesDep) -> Response:
    """Remove a hook."""
    project.require(Action.ADMINISTER)
    async with services.database.write() as connection:
        await incoming_hooks.get(connection, hook_id, project.row.id)
        await incoming_hooks.remove(connection, hook_id)
        happened = Happened("incoming_hook_removed", {"id": hook_id})
        await record(connection, project.caller, project.entity, happened, services.clock())
    return Response(status_code=204)
