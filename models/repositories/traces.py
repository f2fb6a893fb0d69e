"""Logs of jobs: appended in order by offset, checked by CRC-32, moved to the store when the job has ended.

Offset check and append are one `UPDATE ... WHERE size = :start AND generation = :g`; the verdict freezes the log.
"""

import zlib
from collections.abc import Sequence
from typing import Final

from sqlalchemy import bindparam, delete, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.errors import OutOfOrder
from models.columns import Record, table_of
from models.pipelines import Trace, TraceChunk
from models.repositories.job_rows import job

trace = table_of(Trace)
chunk = table_of(TraceChunk)

_GROW: Final = (
    update(trace)
    .where(trace.c.job_id == bindparam("b_job"), trace.c.size == bindparam("b_start"))
    .where(trace.c.generation == bindparam("b_generation"), ~trace.c.frozen)
    .values(size=bindparam("b_size"), crc=bindparam("b_crc"))
)
_ADD: Final = insert(chunk)


async def append(connection: AsyncConnection, row: Record, start: int, content: bytes) -> int:
    """Add bytes at offset `start` of a held job's log (`held_jobs.look`); give back the new size.

    Raises `OutOfOrder` with the size there is.
    """
    job_id = row.id
    if row.size != start:
        raise OutOfOrder(f"The log of job {job_id} has {row.size} bytes; a chunk came for offset {start}.", row.size)
    if not content:
        return start  # some runners flush an empty buffer: a chunk of nothing would stand in the way of the next
    size = start + len(content)
    place = {"b_job": job_id, "b_start": start, "b_generation": row.generation}
    written = await connection.execute(_GROW, {**place, "b_size": size, "b_crc": zlib.crc32(content, row.crc)})
    if written.rowcount == 0:
        now = await head(connection, job_id)
        raise OutOfOrder(f"The log of job {job_id} has {now.size} bytes; a chunk came for offset {start}.", now.size)
    await connection.execute(_ADD, {"job_id": job_id, "generation": row.generation, "start": start, "content": content})
    return size


async def add_words(connection: AsyncConnection, job_id: int, words: str) -> None:
    """Append a line of the server's own to the log of a job that a runner holds; call it before the verdict."""
    log = await head(connection, job_id)
    content = f"\n\x1b[31;1m{words}\x1b[0;m\n".encode("utf-8", "replace")
    place = {"b_job": job_id, "b_start": log.size, "b_generation": log.generation}
    size = log.size + len(content)
    written = await connection.execute(_GROW, {**place, "b_size": size, "b_crc": zlib.crc32(content, log.crc)})
    if written.rowcount:
        start = {"generation": log.generation, "start": log.size}
        await connection.execute(_ADD, {"job_id": job_id, **start, "content": content})


async def head(connection: AsyncConnection, job_id: int) -> Record:
    """Generation, size, checksum and state of a log; an empty one where no runner has taken the job yet."""
    row = (await connection.execute(select(trace).where(trace.c.job_id == job_id))).first()
    return row if row is not None else Trace(job_id=job_id)


async def restart(connection: AsyncConnection, job_id: int) -> None:
    """Begin a new generation: the runner sends the whole log again, and the old one is kept until that is right.

    A frozen log stays what it is.
    """
    await connection.execute(
        update(trace)
        .where(trace.c.job_id == job_id, ~trace.c.frozen)
        .values(generation=trace.c.generation + 1, size=0, crc=0, resent=True)
    )


async def settle(connection: AsyncConnection, job_ids: Sequence[int]) -> None:
    """Before a freeze without the runner's word: a log that was being sent again is the longest that there is."""
    resent = select(trace.c.job_id).where(trace.c.job_id.in_(job_ids), trace.c.resent, ~trace.c.frozen)
    for job_id in (await connection.execute(resent.order_by(trace.c.job_id))).scalars().all():
        await keep_longest(connection, job_id)


async def keep_longest(connection: AsyncConnection, job_id: int) -> None:
    """No generation is right: keep the one with the most bytes. A frozen log stays what it is."""
    length = func.sum(func.length(chunk.c.content)).label("length")
    statement = (
        select(chunk.c.generation, length)
        .where(chunk.c.job_id == job_id)
        .group_by(chunk.c.generation)
        .order_by(length.desc(), chunk.c.generation.desc())
        .limit(1)
    )
    row = (await connection.execute(statement)).first()
    if row is not None:
        parts = await read(connection, job_id, row.generation, 0, int(row.length))
        crc = 0
        for part in parts:
            crc = zlib.crc32(part, crc)
        await connection.execute(
            update(trace)
            .where(trace.c.job_id == job_id, ~trace.c.frozen)
            .values(generation=row.generation, size=int(row.length), crc=crc)
        )


async def read(connection: AsyncConnection, job_id: int, generation: int, start: int, limit: int) -> list[bytes]:
    """At most about `limit` bytes of a log from offset `start`, as they were sent."""
    statement = (
        select(chunk.c.start, chunk.c.content)
        .where(chunk.c.job_id == job_id, chunk.c.generation == generation)
        .where(chunk.c.start + func.length(chunk.c.content) > start, chunk.c.start < start + limit)
        .order_by(chunk.c.start)
    )
    rows = (await connection.execute(statement)).all()
    return [row.content[max(0, start - row.start) : start + limit - row.start] for row in rows]


async def to_store(connection: AsyncConnection, limit: int) -> Sequence[Record]:
    """Logs of ended jobs that are still in the database."""
    statement = (
        select(trace, job.c.project_id)
        .join(job, job.c.id == trace.c.job_id)
        .where(~trace.c.stored, trace.c.frozen)
        .order_by(trace.c.job_id)
        .limit(limit)
    )
    return (await connection.execute(statement)).all()


async def stored(connection: AsyncConnection, job_id: int, generation: int, size: int) -> None:
    """The object was read back and is right: drop the chunks up to its length."""
    written = await connection.execute(
        update(trace)
        .where(trace.c.job_id == job_id, trace.c.generation == generation, trace.c.size == size, trace.c.frozen)
        .values(stored=True)
    )
    if written.rowcount:
        await connection.execute(delete(chunk).where(chunk.c.job_id == job_id))
