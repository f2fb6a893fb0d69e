"""The versions of what merge requests bring: one more with each push to the source branch."""

from datetime import datetime
from typing import Any, Final

from sqlalchemy import Select, delete, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.errors import NotFound
from models.columns import Record, table_of
from models.tables.merge_request_notes import MergeRequestVersion

version = table_of(MergeRequestVersion)

_COLUMNS: Final = ("head_sha", "base_sha", "start_sha")


def of_merge_request(merge_request_id: int) -> Select[Any]:
    """Statement for the versions of a merge request, the newest first."""
    statement = select(version).where(version.c.merge_request_id == merge_request_id)
    return statement.order_by(version.c.id.desc())


async def find(connection: AsyncConnection, merge_request_id: int, version_id: int) -> Record:
    """One version. Raises `NotFound`."""
    row = (await connection.execute(of_merge_request(merge_request_id).where(version.c.id == version_id))).first()
    if row is None:
        raise NotFound("404 Not Found")
    return row


async def is_known(connection: AsyncConnection, row: Record) -> bool:
    """Whether the newest version is what a merge request is now."""
    newest = (await connection.execute(of_merge_request(row.id).limit(1))).first()
    return newest is not None and all(getattr(newest, name) == getattr(row, name) for name in _COLUMNS)


async def keep(connection: AsyncConnection, row: Record, now: datetime) -> None:
    """Write what a merge request is now as its newest version, if it is none yet.

    One that was opened before versions were kept has none: its present state becomes the first.
    """
    if await is_known(connection, row):
        return
    values = {name: getattr(row, name) for name in _COLUMNS}
    await connection.execute(insert(version).values(merge_request_id=row.id, created_at=now, **values))


async def forget(connection: AsyncConnection, merge_request_id: int) -> None:
    """Drop all of a merge request that is deleted."""
    await connection.execute(delete(version).where(version.c.merge_request_id == merge_request_id))
