"""Protected environments of projects and groups, each with those whom it lets deploy.

Who may deploy where is asked in `models.repositories.environments.deploy_permissions`.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, delete, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.errors import NotFound, Refused
from models.columns import table_of
from models.repositories.owner import Owner
from models.repositories.paging import Listing
from models.rows.protected_environments import DeployAccessLevelRow, ProtectedEnvironmentRow
from models.tables.protected_environments import DeployAccessLevel, ProtectedEnvironment
from models.typed_rows import all_of, first_of

rule = table_of(ProtectedEnvironment)
level = table_of(DeployAccessLevel)


def of_owner(owner: Owner) -> Listing[ProtectedEnvironmentRow]:
    """Statement for the rules of an owner, by name."""
    return Listing(select(rule).where(owner.own(rule)).order_by(rule.c.name), ProtectedEnvironmentRow)


async def get(connection: AsyncConnection, owner: Owner, name: str) -> ProtectedEnvironmentRow:
    """The rule of this name. Raises `NotFound`."""
    row = await _find(connection, owner, name)
    if row is None:
        raise NotFound("Not found")
    return row


async def _find(connection: AsyncConnection, owner: Owner, name: str) -> ProtectedEnvironmentRow | None:
    statement = select(rule).where(owner.own(rule), rule.c.name == name)
    return first_of(ProtectedEnvironmentRow, await connection.execute(statement))


async def levels_of(
    connection: AsyncConnection, rule_ids: Collection[int]
) -> Mapping[int, Sequence[DeployAccessLevelRow]]:
    """Those whom rules let deploy, by rule, in the order in which they were added."""
    found: defaultdict[int, list[DeployAccessLevelRow]] = defaultdict(list)
    statement = select(level).where(level.c.protected_environment_id.in_(list(rule_ids))).order_by(level.c.id)
    for row in all_of(DeployAccessLevelRow, await connection.execute(statement)):
        found[row.protected_environment_id].append(row)
    return found


async def add(connection: AsyncConnection, owner: Owner, name: str, now: datetime) -> int:
    """Protect an environment or a tier; nobody is let in yet. Raises `Refused` if it is protected already."""
    if await _find(connection, owner, name) is not None:
        raise Refused(f"Protected environment '{name}' already exists")
    statement = insert(rule).values(**owner.columns, name=name, created_at=now).returning(rule.c.id)
    made: int = (await connection.execute(statement)).scalar_one()
    return made


async def add_level(connection: AsyncConnection, rule_id: int, **values: Any) -> None:
    """Let somebody in: `access_level`, `user_id` or `group_id`, and `group_inheritance_type`."""
    await connection.execute(insert(level).values(protected_environment_id=rule_id, **values))


async def change_level(connection: AsyncConnection, rule_id: int, level_id: int, **values: Any) -> None:
    """Let another one in instead. Raises `NotFound` for an entry that the rule does not have."""
    mine = (level.c.id == level_id) & (level.c.protected_environment_id == rule_id)
    if not (await connection.execute(update(level).where(mine).values(**values))).rowcount:
        raise NotFound(f"Not found: deploy_access_levels has no entry with id {level_id}.")


async def remove_level(connection: AsyncConnection, rule_id: int, level_id: int) -> None:
    """Let somebody in no more. Raises `NotFound` for an entry that the rule does not have."""
    mine = (level.c.id == level_id) & (level.c.protected_environment_id == rule_id)
    if not (await connection.execute(delete(level).where(mine))).rowcount:
        raise NotFound(f"Not found: deploy_access_levels has no entry with id {level_id}.")


async def remove(connection: AsyncConnection, rule_id: int) -> None:
    """Protect an environment or a tier no more."""
    await connection.execute(delete(level).where(level.c.protected_environment_id == rule_id))
    await connection.execute(delete(rule).where(rule.c.id == rule_id))


async def forget_person(connection: AsyncConnection, project_id: int, user_id: int) -> None:
    """Somebody is a member of a project no more: its rules let them in by name no more."""
    await _forget(connection, project_id, level.c.user_id == user_id)


async def forget_group(connection: AsyncConnection, project_id: int, namespace_id: int) -> None:
    """A project is shared with a group no more: its rules let the group in no more."""
    await _forget(connection, project_id, level.c.group_id == namespace_id)


async def _forget(connection: AsyncConnection, project_id: int, named: ColumnElement[bool]) -> None:
    mine = select(rule.c.id).where(rule.c.project_id == project_id)
    await connection.execute(delete(level).where(named, level.c.protected_environment_id.in_(mine)))
