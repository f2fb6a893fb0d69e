"""Organisations, projects and their members."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.errors import Invalid, NotFound
from models.columns import Record, table_of
from models.tables import Member, Organisation, Project

organisation = table_of(Organisation)
project = table_of(Project)
member = table_of(Member)

_LONGEST_ID = 16
"""Digits of 2^53, the largest id there is."""


async def create_organisation(connection: AsyncConnection, path: str, name: str, now: datetime) -> int:
    """Add an organisation. Raises `Invalid` when the path is taken."""
    if (await connection.execute(select(organisation.c.id).where(organisation.c.path == path))).first():
        raise Invalid(f"Organisation path {path} has already been taken.")
    statement = insert(organisation).values(path=path, name=name, created_at=now).returning(organisation.c.id)
    made: int = (await connection.execute(statement)).scalar_one()
    return made


async def organisation_by(connection: AsyncConnection, *, path: str | None = None, key: int | None = None) -> Record:
    """An organisation by path or id. Raises `NotFound`."""
    rule = organisation.c.path == path if path is not None else organisation.c.id == key
    row = (await connection.execute(select(organisation).where(rule))).first()
    if row is None:
        raise NotFound("404 Namespace Not Found")
    return row


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
) -> int:
    """Add a project to an organisation; its creator becomes a member. Raises `Invalid` when the path is taken."""
    full_path = f"{owner.path}/{path}"
    if (await connection.execute(select(project.c.id).where(project.c.full_path == full_path))).first():
        raise Invalid(f"Project path {full_path} has already been taken.")
    statement = insert(project).values(
        organisation_id=owner.id,
        creator_id=creator_id,
        path=path,
        name=name,
        full_path=full_path,
        default_branch=default_branch,
        visibility=visibility,
        timeout=3600,
        pipeline_count=0,
        created_at=now,
    )
    made: int = (await connection.execute(statement.returning(project.c.id))).scalar_one()
    await connection.execute(insert(member).values(project_id=made, user_id=creator_id, access_level=level))
    return made


async def change(connection: AsyncConnection, project_id: int, **values: Any) -> None:
    """Write columns of a project."""
    await connection.execute(update(project).where(project.c.id == project_id).values(**values))


async def add_member(connection: AsyncConnection, project_id: int, user_id: int, level: int) -> None:
    """Give a person an access level in a project."""
    await connection.execute(insert(member).values(project_id=project_id, user_id=user_id, access_level=level))


async def find(connection: AsyncConnection, reference: int | str) -> Record | None:
    """A project by its id or full path, or None."""
    text = str(reference)
    is_id = text.isascii() and text.isdigit() and len(text) <= _LONGEST_ID
    rule = project.c.id == int(text) if is_id else project.c.full_path == text
    return (await connection.execute(select(project).where(rule))).first()


async def member_level(connection: AsyncConnection, project_id: int, user_id: int) -> int:
    """The access level that membership gives; 0 for strangers."""
    if not user_id:
        return 0
    statement = select(member.c.access_level).where(member.c.project_id == project_id, member.c.user_id == user_id)
    return (await connection.execute(statement)).scalar() or 0


async def visible_to(connection: AsyncConnection, user_id: int, *, everything: bool) -> Sequence[Record]:
    """The projects that a person may see, newest first."""
    statement = select(project).order_by(project.c.id.desc())
    if not everything:
        mine = select(member.c.project_id).where(member.c.user_id == user_id)
        statement = statement.where(or_(project.c.visibility == "public", project.c.id.in_(mine)))
    return (await connection.execute(statement)).all()
