"""Files that people put beside a project: rows that speak of objects of the store."""

from collections.abc import Collection
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, delete, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.errors import NotFound
from models.columns import table_of
from models.repositories.artifacts import unused_objects
from models.repositories.paging import Listing
from models.rows.uploads import ProjectUploadRow
from models.tables.uploads import ProjectUpload
from models.typed_rows import first_of, one_of

upload = table_of(ProjectUpload)


def of_project(project_id: int) -> Listing[ProjectUploadRow]:
    """Statement for the files of a project, the newest first."""
    statement = select(upload).where(upload.c.project_id == project_id).order_by(upload.c.id.desc())
    return Listing(statement, ProjectUploadRow)


async def get(connection: AsyncConnection, project_id: int, upload_id: int) -> ProjectUploadRow:
    """A file of a project by its id. Raises `NotFound`."""
    return await _one(connection, upload.c.project_id == project_id, upload.c.id == upload_id)


async def named(connection: AsyncConnection, project_id: int, secret: str, filename: str) -> ProjectUploadRow:
    """The same by what its address ends with. Raises `NotFound`."""
    mine = upload.c.project_id == project_id
    return await _one(connection, mine, upload.c.secret == secret, upload.c.filename == filename)


async def _one(connection: AsyncConnection, *which: ColumnElement[bool]) -> ProjectUploadRow:
    row = first_of(ProjectUploadRow, await connection.execute(select(upload).where(*which)))
    if row is None:
        raise NotFound("Upload Not Found")
    return row


async def add(connection: AsyncConnection, now: datetime, **values: Any) -> ProjectUploadRow:
    """Keep a new file; its row."""
    statement = insert(upload).values(created_at=now, **values).returning(upload)
    return one_of(ProjectUploadRow, await connection.execute(statement))


async def remove(connection: AsyncConnection, row: ProjectUploadRow) -> None:
    """Forget a file; its object is deleted."""
    await unused_objects.doom(connection, [row.object_key])
    await connection.execute(delete(upload).where(upload.c.id == row.id))


async def doom(connection: AsyncConnection, project_id: int) -> None:
    """The objects of a project's files are to be deleted."""
    statement = select(upload.c.object_key).where(upload.c.project_id == project_id)
    if keys := (await connection.execute(statement)).scalars().all():
        await unused_objects.doom(connection, keys)


async def forget_missing(connection: AsyncConnection, keys: Collection[str]) -> None:
    """No row speaks of these objects, which are not there."""
    await connection.execute(delete(upload).where(upload.c.object_key.in_(keys)))
