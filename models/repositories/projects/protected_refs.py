"""Protected branches and tags."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal, overload

from sqlalchemy import Table, delete, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.errors import NotFound, Refused, Unprocessable
from domain.projects.protection import BranchRule, Protection, TagRule
from models.columns import table_of
from models.repositories.paging import Listing, every_of
from models.rows.protected_refs import ProtectedBranchRow, ProtectedTagRow
from models.tables.protected_refs import ProtectedBranch, ProtectedTag
from models.typed_rows import first_of

branch = table_of(ProtectedBranch)
tag = table_of(ProtectedTag)

MAINTAINERS = 40
"""The level that a new project's default branch asks for, as in GitLab."""


async def of_project(connection: AsyncConnection, project_id: int) -> Protection:
    """Every rule of a project."""
    branches = await every_of(connection, branches_of(project_id))
    tags = await every_of(connection, tags_of(project_id))
    return Protection(
        tuple(BranchRule(row.name, row.push_level, row.merge_level, row.allow_force_push) for row in branches),
        tuple(TagRule(row.name, row.create_level) for row in tags),
    )


def branches_of(project_id: int, text: str = "") -> Listing[ProtectedBranchRow]:
    """Statement for the protected branches of a project, by id; with a text in their name, if one is given."""
    statement = select(branch).where(branch.c.project_id == project_id).order_by(branch.c.id)
    narrowed = statement.where(branch.c.name.icontains(text, autoescape=True)) if text else statement
    return Listing(narrowed, ProtectedBranchRow)


def tags_of(project_id: int) -> Listing[ProtectedTagRow]:
    """Statement for the protected tags of a project, by id."""
    return Listing(select(tag).where(tag.c.project_id == project_id).order_by(tag.c.id), ProtectedTagRow)


async def protect_branch(
    connection: AsyncConnection,
    project_id: int,
    name: str,
    now: datetime,
    *,
    push_level: int = MAINTAINERS,
    merge_level: int = MAINTAINERS,
    allow_force_push: bool = False,
) -> None:
    """Protect a branch, or those that fit a name with `*`. Raises `Refused` if that is protected already."""
    values = {"push_level": push_level, "merge_level": merge_level, "allow_force_push": allow_force_push}
    await _add(connection, branch, project_id, name, now, values)


async def protect_tag(
    connection: AsyncConnection, project_id: int, name: str, now: datetime, *, create_level: int = MAINTAINERS
) -> None:
    """The same for a tag."""
    await _add(connection, tag, project_id, name, now, {"create_level": create_level})


async def _add(
    connection: AsyncConnection, table: Table, project_id: int, name: str, now: datetime, values: dict[str, Any]
) -> None:
    known = select(table.c.id).where(table.c.project_id == project_id, table.c.name == name)
    if (await connection.execute(known)).first() is not None:
        if table is tag:
            raise Unprocessable("Name has already been taken")
        raise Refused(f"Protected branch '{name}' already exists")
    await connection.execute(insert(table).values(project_id=project_id, name=name, created_at=now, **values))


@overload
async def get(
    connection: AsyncConnection, project_id: int, name: str, *, is_tag: Literal[False]
) -> ProtectedBranchRow: ...
@overload
async def get(connection: AsyncConnection, project_id: int, name: str, *, is_tag: Literal[True]) -> ProtectedTagRow: ...
@overload
async def get(
    connection: AsyncConnection, project_id: int, name: str, *, is_tag: bool
) -> ProtectedBranchRow | ProtectedTagRow: ...
async def get(
    connection: AsyncConnection, project_id: int, name: str, *, is_tag: bool
) -> ProtectedBranchRow | ProtectedTagRow:
    """The rule with exactly this name. Raises `NotFound`."""
    row: ProtectedBranchRow | ProtectedTagRow | None
    if is_tag:
        found = await connection.execute(tags_of(project_id).statement.where(tag.c.name == name))
        row = first_of(ProtectedTagRow, found)
    else:
        found = await connection.execute(branches_of(project_id).statement.where(branch.c.name == name))
        row = first_of(ProtectedBranchRow, found)
    if row is None:
        raise NotFound("Not found")
    return row


async def change_branch(connection: AsyncConnection, row_id: int, **values: Any) -> None:
    """Write columns of the rule of a branch."""
    if values:
        await connection.execute(update(branch).where(branch.c.id == row_id).values(**values))


async def change_tag(connection: AsyncConnection, row_id: int, *, create_level: int) -> None:
    """Let another level create the tags of a rule."""
    await connection.execute(update(tag).where(tag.c.id == row_id).values(create_level=create_level))


async def remove(connection: AsyncConnection, rows: Sequence[int], *, is_tag: bool) -> None:
    """Take rules away."""
    table = tag if is_tag else branch
    await connection.execute(delete(table).where(table.c.id.in_(list(rows))))
