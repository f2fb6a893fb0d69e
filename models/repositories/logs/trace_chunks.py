"""What runners send of their logs: the chunks of many jobs are one statement on PostgreSQL, rows, bytes and leases."""

import zlib
from collections.abc import Sequence
from functools import cache
from typing import Any, Final, TypeAlias

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Executable,
    LargeBinary,
    and_,
    bindparam,
    column,
    func,
    insert,
    select,
    update,
)
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.types import TypeEngine

from models.repositories.logs import traces
from models.repositories.logs.traces import chunk, trace
from models.repositories.queue import held_jobs
from models.repositories.queue.held_jobs import IS_DUE, RENEWED, HeldJob, lease

Chunk: TypeAlias = tuple[HeldJob, bytes]
"""A held job as it was looked at, and the bytes, one at least, that follow its log."""

_NUMBERS: Final = ("job_id", "hand_out", "generation", "start", "size", "crc")
_COLUMNS: Final[dict[str, TypeEngine[Any]]] = {**dict.fromkeys(_NUMBERS, BigInteger()), "content": LargeBinary()}


async def append(connection: AsyncConnection, chunks: Sequence[Chunk]) -> set[int]:
    """Add bytes to different logs of held jobs and note the calls; the jobs whose log has them now.

    The others were changed, or taken from their runner, after they were looked at: they have nothing of it.
    """
    if not chunks:
        return set()
    if connection.dialect.name == "sqlite":
        return {row.id for row, content in chunks if await _append_one(connection, row, content)}
    arrays = zip(*(_values(row, content) for row, content in chunks), strict=True)
    named = {f"b_{name}": list(values) for name, values in zip(_COLUMNS, arrays, strict=True)}
    return set((await connection.execute(_append_all(), named)).scalars())


def _values(row: HeldJob, content: bytes) -> tuple[int | bytes, ...]:
    """In the order of `_COLUMNS`."""
    size, crc = row.size + len(content), zlib.crc32(content, row.crc)
    return row.id, row.hand_out, row.generation, row.size, size, crc, content


async def _append_one(connection: AsyncConnection, row: HeldJob, content: bytes) -> bool:
    return await held_jobs.renew(connection, row) and await traces.grow(connection, row.id, row, content)


@cache
def _append_all() -> Executable:
    """Many chunks in one statement, for PostgreSQL. Leases are locked in order, then logs, as everybody does."""
    columns = [column(name, kind) for name, kind in _COLUMNS.items()]
    arrays = [bindparam(f"b_{name}", type_=ARRAY(kind)) for name, kind in _COLUMNS.items()]
    sent = func.unnest(*arrays).table_valued(*columns).render_derived()
    is_held = and_(lease.c.job_id == sent.c.job_id, lease.c.hand_out == sent.c.hand_out)
    locked = select(lease.c.job_id).join(sent, is_held).order_by(lease.c.job_id)
    held = locked.with_for_update(of=lease, key_share=True).cte("held")
    renewed = update(lease).where(lease.c.job_id.in_(select(held.c.job_id)), IS_DUE).values(RENEWED).cte("renewed")
    grown = (
        update(trace)
        .where(trace.c.job_id.in_(select(held.c.job_id)), trace.c.job_id == sent.c.job_id, ~trace.c.frozen)
        .where(trace.c.generation == sent.c.generation, trace.c.size == sent.c.start)
        .values(size=sent.c.size, crc=sent.c.crc)
        .returning(sent.c.job_id, sent.c.generation, sent.c.start, sent.c.content)
        .cte("grown")
    )
    names = ["job_id", "generation", "start", "content"]
    return insert(chunk).from_select(names, select(grown)).returning(chunk.c.job_id).add_cte(renewed)
