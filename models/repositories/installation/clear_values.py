"""Values of variables that stand in clear in rows of before they were sealed, found by id, newest first."""

from typing import Any, Final

from sqlalchemy import Table, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.sealed_documents import COLUMNS, Change, seal_row
from models.columns import table_of
from models.repositories.installation.installations import installation
from models.tables.pipelines import Job, Pipeline

_TABLES: Final[tuple[tuple[Table, Any], ...]] = (
    (table_of(Pipeline), installation.c.clear_pipelines_up_to),
    (table_of(Job), installation.c.clear_jobs_up_to),
)


async def seal_next(connection: AsyncConnection, seal: Change, limit: int) -> int:
    """Seal what is in clear in the next rows of a table that has some, at most `limit`; how many were looked at.

    0 when there are none left. How far it is is written in the same transaction.
    """
    for table, mark in _TABLES:
        last = (await connection.execute(select(mark))).scalar() or 0
        if last:
            return await _seal_below(connection, table, mark, last, seal, limit)
    return 0


async def _seal_below(connection: AsyncConnection, table: Table, mark: Any, last: int, seal: Change, limit: int) -> int:
    documents = COLUMNS[table.name]
    found = await connection.execute(
        select(table.c.id, *(table.c[name] for name in (*documents, "plan") if name in table.c))
        .where(table.c.id <= last)
        .order_by(table.c.id.desc())
        .limit(limit)
        .with_for_update()
    )
    rows = found.mappings().all()
    for row in rows:
        sealed = seal_row(table.name, dict(row), seal)
        changed = {name: sealed[name] for name in documents if sealed[name] != row[name]}
        if changed:
            await connection.execute(update(table).where(table.c.id == row["id"]).values(**changed))
    next_last = rows[-1]["id"] - 1 if len(rows) == limit else 0
    await connection.execute(update(installation).values({mark: next_last}))
    return len(rows)
