"""Whom a protected environment may name: people who work there, groups that share in it.

Source of the rules: GitLab's `ProtectedEnvironments::BaseService`, which passes over others without a word.
"""

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.environments.protected_environments import DEVELOPERS, MAINTAINERS
from domain.errors import FieldsInvalid
from models.repositories.accounts import members
from models.repositories.namespaces.namespaces import namespace
from models.repositories.namespaces.shares import lasting, share
from models.repositories.owner import Owner


async def require(connection: AsyncConnection, owner: Owner, user_id: int | None, group_id: int | None) -> None:
    """Raise `Invalid` for a person or group that a rule of the owner cannot name, the same whether they are there."""
    if user_id is not None and not await _may_be_person(connection, owner, user_id):
        least = "Developer in the project" if owner.project_id is not None else "Maintainer in the group"
        raise FieldsInvalid(deploy_access_levels=f"is invalid: user_id {user_id} is nobody who is at least {least}.")
    if group_id is not None and not await _may_be_group(connection, owner, group_id):
        which = "the project is shared with" if owner.project_id is not None else "is this one or lies in it"
        raise FieldsInvalid(deploy_access_levels=f"is invalid: group_id {group_id} is no group that {which}.")


async def _may_be_person(connection: AsyncConnection, owner: Owner, user_id: int) -> bool:
    if owner.project_id is not None:
        return await members.level_in_project(connection, owner.project_id, user_id) >= DEVELOPERS
    return await members.level_in_group(connection, owner.namespace_id or 0, user_id) >= MAINTAINERS


async def _may_be_group(connection: AsyncConnection, owner: Owner, group_id: int) -> bool:
    if owner.project_id is not None:
        shared = (share.c.project_id == owner.project_id) & (share.c.namespace_id == group_id)
        return (await connection.execute(select(share.c.id).where(shared, lasting()))).first() is not None
    trail = namespace.c.trail.contains(f"/{owner.namespace_id}/")
    return (
        await connection.execute(select(namespace.c.id).where(namespace.c.id == group_id, trail))
    ).first() is not None
