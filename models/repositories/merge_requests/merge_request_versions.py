"""The versions of what merge requests bring: one more with each push to the source branch."""

from datetime import datetime
from typing import Final

from sqlalchemy import delete, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.errors import NotFound
from models.columns import table_of
from models.repositories import paging
from models.repositories.paging import Listing
from models.rows.merge_request_notes import MergeRequestVersionRow
from models.rows.merge_requests import MergeRequestRow
from models.tables.merge_request_notes import MergeRequestVersion
from models.typed_rows import first_of

version = table_of(MergeRequestVersion)

_COLUMNS: Final = ("head_sha", "base_sha", "start_sha")


def of_merge_request(merge_request_id: int) -> Listing[MergeRequestVersionRow]:
    """Statement for the versions of a merge request, the newest first."""
    statement = select(version).where(version.c.merge_request_id == merge_request_id)
    return Listing(statement.order_by(version.c.id.desc()), MergeRequestVersionRow)


async def find(connection: AsyncConnection, merge_request_id: int, version_id: int) -> MergeRequestVersionRow:
    """One version. Raises `NotFound`."""
    statement = of_merge_request(merge_request_id).statement.where(version.c.id == version_id)
    row = first_of(MergeRequestVersionRow, await connection.execute(statement))
    if row is None:
        raise NotFound("Not Found")
    return row


async def is_known(connection: AsyncConnection, row: MergeRequestRow) -> bool:
    """Whether the newest version is what a merge request is now."""
    newest = await paging.first_of(connection, of_merge_request(row.id))
    return newest is not None and all(getattr(newest, name) == getattr(row, name) for name in _COLUMNS)


async def keep(connection: AsyncConnection, row: MergeRequestRow, now: datetime) -> None:
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
