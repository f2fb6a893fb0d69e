"""Protected environments of projects and groups, under GitLab's addresses and shapes.

Of a project they are named as the environment, of a group as the deployment tier.
Source of the rules: GitLab: "Protected environments API", "Group-level protected environments API".
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Final

from fastapi import Depends, Response
from fastapi.responses import JSONResponse
from pydantic import Field, field_validator
from sqlalchemy.ext.asyncio import AsyncConnection
from typing_extensions import TypedDict

from api.deps import ServicesDep
from api.routes import RouteList
from api.v4.encoded_paths import decoded
from api.v4.owned_routes import mounted, of_owner
from api.v4.owner_access import OwnerAccess, of_group, of_project
from api.v4.pagination import PagingDep
from api.v4.parameters import Optionals, given
from application.audit import record
from auth.permissions import Action, GroupAction
from domain.config.readers.environment import TIERS
from domain.environments.protected_environments import LEVEL_WORDS, checked_level
from domain.errors import FieldsInvalid
from models.repositories.environments import deploy_candidates, protected_environments
from models.repositories.installation.audit import Happened
from models.repositories.owner import Owner
from models.repositories.paging import slice_of
from models.repositories.projects import relations
from models.rows.accounts import UserRow
from models.rows.namespaces import NamespaceRow
from models.rows.protected_environments import DeployAccessLevelRow, ProtectedEnvironmentRow

_MAX_LEVELS: Final = 100
_NO_APPROVALS: Final = "approvals of deployments are not part of Perdure; leave it out, and use a manual job."
Number = Annotated[int, Field(ge=1, le=2**53)]


class GivenLevel(Optionals):
    """An entry of `deploy_access_levels`: one of `access_level`, `user_id` and `group_id`.

    With an `id` it changes the entry of that id, or takes it away with `_destroy`.
    """

    id: Number | None = None
    access_level: int | None = Field(default=None, ge=0, le=60)
    user_id: Number | None = None
    group_id: Number | None = None
    group_inheritance_type: int = Field(default=0, ge=0, le=1)
    destroy: bool = Field(default=False, alias="_destroy")


class Protection(Optionals):
    """Parameters of `PUT .../protected_environments/:name`. Approvals are refused."""

    deploy_access_levels: list[GivenLevel] = Field(default=[], max_length=_MAX_LEVELS)
    required_approval_count: int = 0
    approval_rules: list[dict[str, Any]] = Field(default=[], max_length=_MAX_LEVELS)

    @field_validator("required_approval_count", "approval_rules")
    @classmethod
    def _asks_for_none(cls, value: Any) -> Any:
        if value:
            raise ValueError(_NO_APPROVALS)
        return value


class NewProtection(Protection):
    """Parameters of `POST .../protected_environments`."""

    name: str = Field(min_length=1, max_length=255)
    deploy_access_levels: list[GivenLevel] = Field(min_length=1, max_length=_MAX_LEVELS)


class DeployLevelResponse(TypedDict):
    """Whom a rule lets deploy: everybody from an access level on, a person, or a group."""

    id: int
    access_level: int | None
    access_level_description: str
    user_id: int | None
    group_id: int | None
    group_inheritance_type: int


class ProtectedEnvironmentResponse(TypedDict):
    """A protected environment; approvals are not part of the rules."""

    name: str
    deploy_access_levels: list[DeployLevelResponse]
    required_approval_count: int
    approval_rules: list[dict[str, Any]]


async def _shown(
    connection: AsyncConnection, rows: Sequence[ProtectedEnvironmentRow]
) -> list[ProtectedEnvironmentResponse]:
    levels = await protected_environments.levels_of(connection, [row.id for row in rows])
    every = [level for found in levels.values() for level in found]
    people = await relations.users(connection, (level.user_id for level in every if level.user_id is not None))
    groups = await relations.namespaces(connection, (level.group_id for level in every if level.group_id is not None))
    return [
        {
            "name": row.name,
            "deploy_access_levels": [_level(level, people, groups) for level in levels.get(row.id, ())],
            "required_approval_count": 0,
            "approval_rules": [],
        }
        for row in rows
    ]


def _level(
    row: DeployAccessLevelRow, people: Mapping[int, UserRow], groups: Mapping[int, NamespaceRow]
) -> DeployLevelResponse:
    return {
        "id": row.id,
        "access_level": row.access_level,
        "access_level_description": _named(row, people, groups),
        "user_id": row.user_id,
        "group_id": row.group_id,
        "group_inheritance_type": row.group_inheritance_type,
    }


def _named(row: DeployAccessLevelRow, people: Mapping[int, UserRow], groups: Mapping[int, NamespaceRow]) -> str:
    person = None if row.user_id is None else people.get(row.user_id)
    group = None if row.group_id is None else groups.get(row.group_id)
    if person is not None:
        return person.name
    if group is not None:
        return group.name
    return "" if row.access_level is None else LEVEL_WORDS.get(row.access_level, "")


async def _write_levels(connection: AsyncConnection, owner: Owner, rule_id: int, levels: Sequence[GivenLevel]) -> None:
    """Add, change and take away those whom a rule lets deploy. Raises `Invalid` for somebody whom it cannot name."""
    for level in levels:
        if level.id is not None and level.destroy:
            await protected_environments.remove_level(connection, rule_id, level.id)
            continue
        checked_level(level.access_level, level.user_id, level.group_id)
        await deploy_candidates.require(connection, owner, level.user_id, level.group_id)
        values = level.model_dump(include={"access_level", "user_id", "group_id", "group_inheritance_type"})
        if level.id is None:
            await protected_environments.add_level(connection, rule_id, **values)
        else:
            await protected_environments.change_level(connection, rule_id, level.id, **values)
    found = await protected_environments.levels_of(connection, [rule_id])
    if not 1 <= len(found.get(rule_id, ())) <= _MAX_LEVELS:
        raise FieldsInvalid(deploy_access_levels=f"is invalid: there must be 1 to {_MAX_LEVELS} entries.")


def _checked_name(owner: Owner, name: str) -> str:
    if owner.namespace_id is not None and name not in TIERS:
        raise FieldsInvalid(name=f"must be one of environment tiers: {', '.join(TIERS)}.")
    return name


async def _note(
    connection: AsyncConnection, found: OwnerAccess, event: str, name: str, now: datetime
) -> ProtectedEnvironmentResponse:
    """The rule as it is now, with an audit event that tells of whom it lets deploy."""
    (document,) = await _shown(connection, [await protected_environments.get(connection, found.owner, name)])
    levels = [
        {
            "access_level": level["access_level"],
            "user_id": level["user_id"],
            "group_id": level["group_id"],
            "group_inheritance_type": level["group_inheritance_type"],
        }
        for level in document["deploy_access_levels"]
    ]
    happened = Happened(event, {"name": name, "deploy_access_levels": levels})
    await record(connection, found.caller, found.entity, happened, now)
    return document


routes = RouteList()
"""The same calls for the rules of one kind of owner."""


@routes.get("", response_model=list[ProtectedEnvironmentResponse])
async def list_protected_environments(
    services: ServicesDep, paging: PagingDep, found: OwnerAccess = Depends(of_owner)
) -> JSONResponse:
    """The protected environments, by name."""
    statement = protected_environments.of_owner(found.owner)
    async with services.database.read() as connection:
        page = await slice_of(connection, statement, paging.number, paging.size)
        items = await _shown(connection, page.rows)
    return paging.response(items, page.total)


@routes.get("/{name}")
async def get_protected_environment(
    name: str, services: ServicesDep, found: OwnerAccess = Depends(of_owner)
) -> ProtectedEnvironmentResponse:
    """One protected environment."""
    async with services.database.read() as connection:
        row = await protected_environments.get(connection, found.owner, decoded(name))
        (document,) = await _shown(connection, [row])
    return document


@routes.post("", status_code=201)
async def protect_environment(
    new: Annotated[NewProtection, Depends(given(NewProtection))],
    services: ServicesDep,
    found: OwnerAccess = Depends(of_owner),
) -> ProtectedEnvironmentResponse:
    """Let only those deploy who are named. Answers 409 for what is protected already."""
    name, now = _checked_name(found.owner, new.name), services.clock()
    async with services.database.write() as connection:
        rule_id = await protected_environments.add(connection, found.owner, name, now)
        await _write_levels(connection, found.owner, rule_id, new.deploy_access_levels)
        return await _note(connection, found, "environment_protected", name, now)


@routes.put("/{name}")
async def change_protected_environment(
    name: str,
    change: Annotated[Protection, Depends(given(Protection))],
    services: ServicesDep,
    found: OwnerAccess = Depends(of_owner),
) -> ProtectedEnvironmentResponse:
    """Change who may deploy: entries without `id` are added, those with one changed or taken away."""
    async with services.database.write() as connection:
        row = await protected_environments.get(connection, found.owner, decoded(name))
        await _write_levels(connection, found.owner, row.id, change.deploy_access_levels)
        return await _note(connection, found, "environment_protection_changed", row.name, services.clock())


@routes.delete("/{name}", status_code=204)
async def unprotect_environment(name: str, services: ServicesDep, found: OwnerAccess = Depends(of_owner)) -> Response:
    """Protect an environment no more; whom it let in is forgotten."""
    async with services.database.write() as connection:
        row = await protected_environments.get(connection, found.owner, decoded(name))
        await protected_environments.remove(connection, row.id)
        happened = Happened("environment_unprotected", {"name": row.name})
        await record(connection, found.caller, found.entity, happened, services.clock())
    return Response(status_code=204)


_PROJECTS: Final = "/projects/{project}/protected_environments"
_GROUPS: Final = "/groups/{group}/protected_environments"

router = RouteList()
router.include(mounted(routes, _PROJECTS, {of_owner: of_project(Action.ADMINISTER)}))
router.include(mounted(routes, _GROUPS, {of_owner: of_group(GroupAction.OWN)}))
