"""CI/CD variables of the instance, of groups and of projects. Values go in and out sealed."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import delete, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.errors import FieldsInvalid, NotFound, Refused
from models.columns import table_of
from models.repositories.namespaces.namespaces import namespace, trail_of
from models.repositories.owner import Owner
from models.repositories.paging import Listing
from models.repositories.projects.projects import project
from models.rows.variables import CiVariableRow
from models.tables.variables import CiVariable
from models.typed_rows import all_of, one_of

variable = table_of(CiVariable)


def purpose_of(owner: Owner) -> str:
    """What a value of this owner is sealed for: moved to another owner it cannot be opened."""
    return f"ci_variable:{owner.project_id or ''}:{owner.namespace_id or ''}"


def owner_of(row: CiVariableRow) -> Owner:
    """The owner of a variable's row."""
    return Owner(row.project_id, row.namespace_id)


def of_owner(owner: Owner) -> Listing[CiVariableRow]:
    """Statement for the variables of an owner, in the order of their keys."""
    return Listing(select(variable).where(owner.own(variable)).order_by(variable.c.key, variable.c.id), CiVariableRow)


async def reaching(connection: AsyncConnection, project_id: int) -> Sequence[tuple[int, CiVariableRow]]:
    """Every variable that may reach a project, with its level: 0 the instance, then groups by depth, then itself."""
    trail = await connection.execute(
        select(namespace.c.trail)
        .join(project, project.c.namespace_id == namespace.c.id)
        .where(project.c.id == project_id)
    )
    groups = trail_of(trail.scalar() or "")
    rule = or_(variable.c.project_id == project_id, variable.c.namespace_id.in_(groups), Owner().own(variable))
    levels: dict[int | None, int] = {None: 0} | {group: depth for depth, group in enumerate(groups, 1)}
    own = len(groups) + 1
    rows = all_of(CiVariableRow, await connection.execute(select(variable).where(rule).order_by(variable.c.id)))
    return [(own if row.project_id is not None else levels[row.namespace_id], row) for row in rows]


async def find(connection: AsyncConnection, owner: Owner, key: str, scope: str | None) -> CiVariableRow:
    """A variable by key, and by scope where there are several. Raises `NotFound`, `Invalid`."""
    statement = of_owner(owner).statement.where(variable.c.key == key)
    if scope is not None:
        statement = statement.where(variable.c.environment_scope == scope)
    rows = all_of(CiVariableRow, await connection.execute(statement))
    if not rows:
        raise NotFound("Variable Not Found")
    if len(rows) > 1:
        raise Refused("There are multiple variables with provided parameters. Please use 'filter[environment_scope]'")
    return rows[0]


async def add(connection: AsyncConnection, owner: Owner, now: datetime, **values: Any) -> int:
    """Add a variable. Raises `Invalid` if there is one with this key and scope."""
    await _require_free(connection, owner, values["key"], values["environment_scope"])
    row = {**owner.columns, "created_at": now, "updated_at": now}
    made: int = (
        await connection.execute(insert(variable).values(**row, **values).returning(variable.c.id))
    ).scalar_one()
    return made


async def change(connection: AsyncConnection, row: CiVariableRow, now: datetime, **values: Any) -> None:
    """Write columns of a variable. Raises `Invalid` if another one has that key and scope."""
    scope = values.get("environment_scope", row.environment_scope)
    if scope != row.environment_scope:
        await _require_free(connection, owner_of(row), row.key, scope)
    await connection.execute(update(variable).where(variable.c.id == row.id).values(updated_at=now, **values))


async def remove(connection: AsyncConnection, variable_id: int) -> None:
    """Remove a variable."""
    await connection.execute(delete(variable).where(variable.c.id == variable_id))


async def get(connection: AsyncConnection, variable_id: int) -> CiVariableRow:
    """A variable by id."""
    return one_of(CiVariableRow, await connection.execute(select(variable).where(variable.c.id == variable_id)))


async def _require_free(connection: AsyncConnection, owner: Owner, key: str, scope: str) -> None:
    same = select(variable.c.id).where(owner.own(variable), variable.c.key == key)
    if owner != Owner():  # the instance has one variable of a key
        same = same.where(variable.c.environment_scope == scope)
    if (await connection.execute(same)).first() is not None:
        raise FieldsInvalid(key=f"({key}) has already been taken")
