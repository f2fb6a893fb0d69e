"""Rows that owe a pipeline: due at `not_before`, done at `done_at`, with what became of them.

A row is noted with its cause and done in the transaction that makes its pipeline: a process that is killed at any
moment leaves one or the other.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Generic, Protocol, TypeVar

from sqlalchemy import ColumnElement, Table, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from models.repositories.paging import Listing
from models.typed_rows import all_of

_MAX_ERROR = 1_000


class OwedRow(Protocol):
    """A row that owes a pipeline."""

    @property
    def id(self) -> int:
        """Its id."""

    @property
    def project_id(self) -> int:
        """The project that the pipeline is to be of."""

    @property
    def attempts(self) -> int:
        """How often it was tried in vain."""


Owed = TypeVar("Owed", bound=OwedRow)


@dataclass(frozen=True)
class OwedPipelines(Generic[Owed]):
    """Rows of `table`; `rows` is what reads them, with whatever else is to be known of them."""

    table: Table
    rows: Listing[Owed]
    longest_pause: timedelta

    def _due(self, now: datetime) -> ColumnElement[bool]:
        return self.table.c.done_at.is_(None) & (self.table.c.not_before <= now)

    async def is_due(self, connection: AsyncConnection, now: datetime) -> bool:
        """Whether there is anything to hold."""
        found = await connection.execute(select(self.table.c.id).where(self._due(now)).limit(1))
        return found.first() is not None

    async def hold_due(self, connection: AsyncConnection, now: datetime, until: datetime, limit: int) -> Sequence[Owed]:
        """Rows that are due and that nobody holds; they are left alone by others until `until`."""
        statement = (
            self.rows.statement.where(self._due(now))
            .order_by(self.table.c.id)
            .limit(limit)
            .with_for_update(skip_locked=True, of=self.table)
        )
        rows = all_of(self.rows.kind, await connection.execute(statement))
        if rows:
            ids = [row.id for row in rows]
            held = update(self.table).where(self.table.c.id.in_(ids)).values(not_before=until)
            await connection.execute(held)
        return rows

    async def finish(self, connection: AsyncConnection, row_id: int, now: datetime) -> bool:
        """Take a row, in the transaction that makes its pipeline; false if that has been done."""
        statement = update(self.table).where(self.table.c.id == row_id, self.table.c.done_at.is_(None))
        return bool((await connection.execute(statement.values(done_at=now))).rowcount)

    async def tell(
        self, connection: AsyncConnection, row_id: int, *, pipeline_id: int | None = None, error: str = ""
    ) -> None:
        """Write down what became of a row."""
        values = {"pipeline_id": pipeline_id, "error": error[:_MAX_ERROR]}
        await connection.execute(update(self.table).where(self.table.c.id == row_id).values(**values))

    async def back_off(self, connection: AsyncConnection, row: Owed, error: str, now: datetime) -> None:
        """Look at a row again later: after 1 s, 2 s ... `longest_pause`."""
        pause = min(timedelta(seconds=2 ** min(row.attempts, 10)), self.longest_pause)
        values = {"attempts": row.attempts + 1, "error": error[:_MAX_ERROR], "not_before": now + pause}
        rule = (self.table.c.id == row.id) & self.table.c.done_at.is_(None)
        await connection.execute(update(self.table).where(rule).values(**values))
