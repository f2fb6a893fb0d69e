"""Secure files of projects: rows that speak of sealed objects of the store."""

from collections.abc import Collection
from datetime import datetime
from typing import Any

from sqlalchemy import delete, func, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.errors import NotFound
from domain.projects.secure_files import check_room
from models.columns import table_of
from models.repositories.artifacts import unused_objects
from models.repositories.paging import Listing
from models.rows.secure_files import SecureFileRow
from models.tables.projects import Project
from models.tables.secure_files import SecureFile
from models.typed_rows import first_of

secure_file = table_of(SecureFile)
project = table_of(Project)


def of_project(project_id: int) -> Listing[SecureFileRow]:
    """Statement for the files of a project, the oldest first."""
    statement = select(secure_file).where(secure_file.c.project_id == project_id).order_by(secure_file.c.id)
    return Listing(statement, SecureFileRow)


async def get(connection: AsyncConnection, project_id: int, file_id: int) -> SecureFileRow:
    """A file of a project. Raises `NotFound`."""
    statement = of_project(project_id).statement.where(secure_file.c.id == file_id)
    row = first_of(SecureFileRow, await connection.execute(statement))
    if row is None:
        raise NotFound("Not found")
    return row


async def require_room(connection: AsyncConnection, project_id: int, name: str) -> None:
    """Raise `Invalid` where a project may have no further file, or none of this name; `NotFound` if it is gone.

    Until the caller's transaction ends nobody else adds a file to the project.
    """
    locked = select(project.c.id).where(project.c.id == project_id).with_for_update()
    if (await connection.execute(locked)).first() is None:
        raise NotFound("Project Not Found")
    mine = secure_file.c.project_id == project_id
    count = (await connection.execute(select(func.count()).select_from(secure_file).where(mine))).scalar_one()
    taken = (await connection.execute(select(secure_file.c.id).where(mine, secure_file.c.name == name))).first()
    check_room(name, count, is_taken=taken is not None)


async def add(connection: AsyncConnection, now: datetime, **values: Any) -> SecureFileRow:
    """Keep a new file: `project_id`, `name`, `size`, `sha256`, `object_key`."""
    statement = insert(secure_file).values(created_at=now, **values).returning(secure_file.c.id)
    made: int = (await connection.execute(statement)).scalar_one()
    return await get(connection, values["project_id"], made)


async def remove(connection: AsyncConnection, row: SecureFileRow) -> None:
    """Forget a file; its object is deleted."""
    await unused_objects.doom(connection, [row.object_key])
    await connection.execute(delete(secure_file).where(secure_file.c.id == row.id))


async def doom(connection: AsyncConnection, project_id: int) -> None:
    """The objects of a project's files are to be deleted."""
    statement = select(secure_file.c.object_key).where(secure_file.c.project_id == project_id)
    keys = (await connection.execute(statement)).scalars().all()
    if keys:
        await unused_objects.doom(connection, keys)


async def forget_missing(connection: AsyncConnection, keys: Collection[str]) -> None:
    """No row speaks of these objects, which are not there."""
    await connection.execute(delete(secure_file).where(secure_file.c.object_key.in_(keys)))
