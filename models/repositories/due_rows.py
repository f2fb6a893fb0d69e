"""Rows of a table that are open until something was told to somebody, and the time at which each is looked at."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Column, Table, bindparam, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from models.rows.hooks import DueRow
from models.typed_rows import all_of


class DueRows:
    """Those of one table, which has `id`, `state` and `due_at`."""

    def __init__(self, table: Table, mark: "Column[int]", still_open: str) -> None:
        """`still_open` is the state until the end; `mark` changes with a try, or with something new to tell."""
        rows = table.c
        self._due = (
            select(rows.id, mark.label("mark"))
            # In the words of an index.
            .where(text(f"{table.name}.state = '{still_open}'"), rows.due_at <= bindparam("b_now"))
            .order_by(rows.due_at, rows.id)
            .limit(bindparam("b_limit"))
        )
        self._later = (
            update(table)
            .where(rows.id == bindparam("b_id"), mark == bindparam("b_mark"))
            .where(rows.state == still_open, rows.due_at <= bindparam("b_seen"))
            .values(due_at=bindparam("b_at"))
        )

    async def due(self, connection: AsyncConnection, now: datetime, limit: int) -> Sequence[DueRow]:
        """Those that are to be looked at now."""
        return all_of(DueRow, await connection.execute(self._due, {"b_now": now, "b_limit": limit}))

    async def look_again(
        self, connection: AsyncConnection, rows: Sequence[DueRow], seen_at: datetime, at: datetime
    ) -> None:
        """Look at these (as `due` gave them) later; those whose mark has changed keep the time that this gave them."""
        values = [{"b_id": row.id, "b_mark": row.mark, "b_seen": seen_at, "b_at": at} for row in rows]
        await connection.execute(self._later, values)
