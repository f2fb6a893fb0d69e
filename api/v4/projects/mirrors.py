"""The pull mirror of a project, under GitLab's addresses and shapes."""

from typing import Annotated, Any

from fastapi import Depends, Response
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from api.deps import ServicesDep
from api.routes import RouteList
from api.services import Services
from api.v4.access import ProjectDep
from api.v4.parameters import given
from application.access import ProjectAccess
from application.audit import record
from application.mirrors.pull import checked_url
from auth.permissions import Action
from domain.errors import Invalid, NotFound
from domain.moments import moment
from models.repositories.installation.audit import Happened
from models.repositories.projects import mirrors
from models.rows.mirrors import MirrorRow

router = RouteList(prefix="/projects/{project}/mirror/pull")


class MirrorChanges(BaseModel):
    """Parameters of `PUT /projects/:id/mirror/pull`; `interval`, in seconds, is our own."""

    enabled: bool | None = None
    url: str | None = Field(default=None, max_length=2048)
    auth_user: str | None = Field(default=None, max_length=255, pattern=r"^[^:\x00-\x1f\x7f]*$")
    auth_password: str | None = Field(default=None, max_length=4096, pattern=r"^[^\x00-\x1f\x7f]*$")
    mirror_trigger_builds: bool | None = None
    interval: int | None = Field(default=None, ge=300, le=30 * 86400)


class MirrorResponse(TypedDict):
    """A mirror. `interval` is seconds."""

    id: int
    enabled: bool
    url: str
    update_status: str
    last_error: str | None
    last_update_at: str | None
    last_update_started_at: str | None
    last_successful_update_at: str | None
    mirror_trigger_builds: bool
    only_mirror_protected_branches: bool
    mirror_overwrites_diverged_branches: bool
    mirror_branch_regex: None
    interval: int
    next_update_at: str | None


def shown(row: MirrorRow) -> MirrorResponse:
    """A mirror as GitLab's JSON; nothing of its credentials."""
    return {
        "id": row.id,
        "enabled": row.enabled,
        "url": row.url,
        "update_status": row.status,
        "last_error": row.last_error or None,
        "last_update_at": moment(row.last_update_at),
        "last_update_started_at": moment(row.last_update_started_at),
        "last_successful_update_at": moment(row.last_successful_update_at),
        "mirror_trigger_builds": row.trigger_builds,
        "only_mirror_protected_branches": False,
        "mirror_overwrites_diverged_branches": True,
        "mirror_branch_regex": None,
        "interval": row.interval,
        "next_update_at": moment(row.next_at),
    }


@router.get("")
async def get_mirror(project: ProjectDep, services: ServicesDep) -> MirrorResponse:
    """The mirror; maintainers may see it."""
    project.require(Action.ADMINISTER)
    return shown(await _row(services, project))


@router.put("")
async def put_mirror(
    changes: Annotated[MirrorChanges, Depends(given(MirrorChanges))], project: ProjectDep, services: ServicesDep
) -> MirrorResponse:
    """Set the mirror up, or change it: it is the caller's from now on, and is pulled soon.

    Credentials stay with their address: another url without new ones has none.
    """
    project.require(Action.ADMINISTER)
    now = services.clock()
    async with services.database.write() as connection:
        known = await mirrors.of_project(connection, project.row.id)
        if known is None and not changes.url:
            raise Invalid("url is missing")
        values = _values(services, project, changes, known)
        enabled = values.get("enabled", known is None or known.enabled)
        values |= {"user_id": project.caller.user_id, "next_at": now if enabled else None}
        await mirrors.put(connection, project.row.id, now, **values)
        details = {name: value for name, value in values.items() if name in {"url", "enabled", "interval"}}
        await record(connection, project.caller, project.entity, Happened("mirror_changed", details), now)
    return shown(await _row(services, project))


def _values(
    services: Services, project: ProjectAccess, changes: MirrorChanges, known: MirrorRow | None
) -> dict[str, Any]:
    columns = {
        "enabled": changes.enabled,
        "trigger_builds": changes.mirror_trigger_builds,
        "interval": changes.interval,
    }
    values: dict[str, Any] = {name: value for name, value in columns.items() if value is not None}
    secret = None
    if changes.url is not None:
        values["url"], secret = checked_url(changes.url)
        if known is not None and values["url"] == known.url and not secret:
            secret = None
    if changes.auth_user is not None or changes.auth_password is not None:
        secret = f"{changes.auth_user or ''}:{changes.auth_password or ''}".removesuffix(":")
    if secret is not None:
        sealed = services.sealer.seal(secret, mirrors.purpose(project.row.id)) if secret else ""
        values["credentials"] = sealed
    return values


@router.post("")
async def start_pull(project: ProjectDep, services: ServicesDep) -> MirrorResponse:
    """Pull soon, whatever the timer says; developers may."""
    project.require(Action.PUSH)
    async with services.database.write() as connection:
        if not await mirrors.schedule(connection, project.row.id, services.clock()):
            raise Invalid("The project is not mirrored")
    return shown(await _row(services, project))


@router.delete("", status_code=204)
async def remove_mirror(project: ProjectDep, services: ServicesDep) -> Response:
    """Follow the other repository no more; what was fetched stays."""
    project.require(Action.ADMINISTER)
    row = await _row(services, project)
    async with services.database.write() as connection:
        await mirrors.remove(connection, project.row.id)
        happened = Happened("mirror_removed", {"url": row.url})
        await record(connection, project.caller, project.entity, happened, services.clock())
    return Response(status_code=204)


async def _row(services: Services, project: ProjectAccess) -> MirrorRow:
    async with services.database.read() as connection:
        row = await mirrors.of_project(connection, project.row.id)
    if row is None:
        raise NotFound("Mirror Not Found")
    return row
