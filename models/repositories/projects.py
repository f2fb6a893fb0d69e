"""Projects."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from models.columns import Record, table_of
from models.repositories import hooks, members, namespaces, protected_refs
from models.repositories.hooks import HookOwner
from models.tables import Project

project = table_of(Project)

_LONGEST_ID = 16
"""Digits of 2^53, the largest id there is."""


async def create_project(
    connection: AsyncConnection,
    owner: Record,
    path: str,
    name: str,
    creator_id: int,
    now: datetime,
    *,
    visibility: str = "private",
    default_branch: str = "main",
    level: int = 50,
    **values: Any,
) -> int:
    """Add a project to the group `owner`; its creator becomes a member, its default branch is protected.

    Raises `Invalid` when the path is taken.
    """
    full_path = f"{owner.full_path}/{path}"
    await namespaces.require_free(connection, full_path)
    statement = insert(project).values(
        organisation_id=owner.organisation_id,
        namespace_id=owner.id,
        creator_id=creator_id,
        path=path,
        name=name,
        full_path=full_path,
        default_branch=default_branch,
        visibility=visibility,
        timeout=3600,
        pipeline_count=0,
        created_at=now,
        **values,
    )
    made: int = (await connection.execute(statement.returning(project.c.id))).scalar_one()
    await members.add_to_project(connection, made, creator_id, level)
    await protected_refs.protect_branch(connection, made, default_branch, now)
    await hooks.watch(connection, HookOwner(project_id=made))
    return made


async def change(connection: AsyncConnection, project_id: int, **values: Any) -> None:
    """Write columns of a project."""
    await connection.execute(update(project).where(project.c.id == project_id).values(**values))


async def find(connection: AsyncConnection, reference: int | str) -> Record | None:
    """A project by its id or full path, or None."""
    text = str(reference)
    is_id = text.isascii() and text.isdigit() and len(text) <= _LONGEST_ID
    rule = project.c.id == int(text) if is_id else project.c.full_path == text
    return (await connection.execute(select(project).where(rule))).first()


async def visible_to(connection: AsyncConnection, user_id: int, *, everything: bool) -> Sequence[Record]:
    """The projects that a person may see, newest first."""
    statement = select(project).order_by(project.c.id.desc())
    if not everything:
        statement = statement.where(visible(user_id))
    return (await connection.execute(statement)).all()


def visible(user_id: int) -> ColumnElement[bool]:
    """Whether a person (0 is nobody) may see a project."""
    shown = ("public", "internal") if user_id else ("public",)
    return or_(project.c.visibility.in_(shown), project.c.id.in_(members.project_ids(user_id)))


def readable(user_id: int, level: int, *, internal: bool) -> ColumnElement[bool]:
    """Whether a person may read the code of a project: of an open one, or as a member of at least that level."""
    shown = ("public", "internal") if internal else ("public",)
    return or_(project.c.visibility.in_(shown), project.c.id.in_(members.project_ids(user_id, level)))
