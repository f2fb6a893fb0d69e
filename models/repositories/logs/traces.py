"""Logs of jobs: appended in order by offset, checked by CRC-32, moved to the store when the job has ended.

Offset check and append are one `UPDATE ... WHERE size = :start AND generation = :g`; the verdict freezes the log.
Nothing here ever holds more of a log than it is asked for.
"""

import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import BigInteger, Integer, bindparam, case, cast, delete, func, insert, select, text, tuple_, update
from sqlalchemy.ext.asyncio import AsyncConnection

from models.columns import padded, table_of
from models.repositories.pipelines.job_rows import job
from models.repositories.queue.held_jobs import TICKS, HeldJob
from models.rows.logs import TraceRow
from models.tables.logs import TO_STORE, Trace, TraceChunk, TraceIndex
from models.typed_rows import all_of

trace = table_of(Trace)
chunk = table_of(TraceChunk)
index = table_of(TraceIndex)

WATCHED_TICKS: Final = 2
"""A log counts as watched for so many ticks after a look at it; readers look every few seconds."""

_GROW: Final = (
    update(trace)
    .where(trace.c.job_id == bindparam("b_job"), trace.c.size == bindparam("b_start"))
    .where(trace.c.generation == bindparam("b_generation"), ~trace.c.frozen)
    .values(size=bindparam("b_size"), crc=bindparam("b_crc"))
)
_ADD: Final = insert(chunk)

_HEAD_OF: Final = select(
    trace.c.generation,
    trace.c.size,
    trace.c.crc,
    trace.c.frozen,
    trace.c.copied,
    trace.c.watched,
    TICKS.label("ticks"),
)
_HEAD: Final = _HEAD_OF.where(trace.c.job_id == bindparam("b_job"))
_HEADS: Final = _HEAD_OF.add_columns(trace.c.job_id).where(trace.c.job_id.in_(bindparam("b_jobs", expanding=True)))
_GROWING: Final = (
    select(trace.c.job_id)
    .where(trace.c.job_id.in_(bindparam("b_jobs", expanding=True)), ~trace.c.frozen)
    .where(func.coalesce(trace.c.watched, -1) < TICKS)
    .order_by(trace.c.job_id)
    .with_for_update()
)
_WATCH: Final = update(trace).where(trace.c.job_id.in_(_GROWING)).values(watched=TICKS)

_FROM: Final = bindparam("b_from", type_=BigInteger)
_TO: Final = bindparam("b_to", type_=BigInteger)
_OF_GENERATION: Final = (chunk.c.job_id == bindparam("b_job"), chunk.c.generation == bindparam("b_generation"))
_FIRST: Final = select(func.max(chunk.c.start)).where(*_OF_GENERATION, chunk.c.start <= _FROM).scalar_subquery()
"""Where the chunk begins that holds the first byte: found by the key, however long the log is."""
_BEGIN: Final = case((chunk.c.start < _FROM, _FROM), else_=chunk.c.start)
_READ: Final = (
    select(func.substr(chunk.c.content, cast(_BEGIN - chunk.c.start + 1, Integer), cast(_TO - _BEGIN, Integer)))
    .where(*_OF_GENERATION, chunk.c.start >= _FIRST, chunk.c.start < _TO)
    .order_by(chunk.c.start)
)

_RUN: Final = (job.c.started_at, job.c.finished_at, job.c.script_at)
_MAX_CHUNK: Final = (
    update(trace)
    .where(trace.c.job_id.in_(bindparam("b_jobs", expanding=True)), trace.c.resent, ~trace.c.frozen)
    .where(trace.c.earlier_size > trace.c.size)
    .values(generation=trace.c.generation - 1, size=trace.c.earlier_size, crc=trace.c.earlier_crc)
)


@dataclass(frozen=True, slots=True)
class Head:
    """What is known of a log without its bytes; `ticks` is the present tick of the lease clock.

    The defaults are those of a log that no runner has begun: nobody has to be told that it is watched.
    """

    generation: int = 0
    size: int = 0
    crc: int = 0
    frozen: bool = False
    copied: bool = False
    watched: int | None = 0
    ticks: int = 0


async def grow(connection: AsyncConnection, job_id: int, log: HeldJob | Head, content: bytes) -> bool:
    """Add bytes, one at least, behind a log as it was seen; false when it has changed since."""
    place = {"b_job": job_id, "b_start": log.size, "b_generation": log.generation}
    size, crc = log.size + len(content), zlib.crc32(content, log.crc)
    if not (await connection.execute(_GROW, {**place, "b_size": size, "b_crc": crc})).rowcount:
        return False
    start = {"generation": log.generation, "start": log.size}
    await connection.execute(_ADD, {"job_id": job_id, **start, "content": content})
    return True


async def add_words(connection: AsyncConnection, job_id: int, words: str) -> None:
    """Append a line of the server's own to the log of a job that a runner holds; call it before the verdict."""
    content = f"\n\x1b[31;1m{words}\x1b[0;m\n".encode("utf-8", "replace")
    await grow(connection, job_id, await head(connection, job_id), content)


async def head(connection: AsyncConnection, job_id: int) -> Head:
    """Generation, size, checksum and state of a log; an empty one where no runner has taken the job yet."""
    row = (await connection.execute(_HEAD, {"b_job": job_id})).first()
    return Head() if row is None else Head(*row)


async def heads(connection: AsyncConnection, job_ids: Collection[int]) -> Mapping[int, Head]:
    """The same of many logs, by job; without those that no runner has taken yet."""
    rows = (await connection.execute(_HEADS, {"b_jobs": padded(job_ids)})).all()
    return {row.job_id: Head(*row[:-1]) for row in rows}


def is_watched(row: HeldJob | Head) -> bool:
    """Whether somebody reads the growing log of a held job."""
    return row.watched is not None and bool(row.watched + WATCHED_TICKS >= (row.ticks or 0))


async def watch(connection: AsyncConnection, job_ids: Collection[int]) -> None:
    """Note that somebody reads logs that grow; once a tick, however many readers there are."""
    await connection.execute(_WATCH, {"b_jobs": padded(job_ids)})


async def restart(connection: AsyncConnection, job_id: int) -> None:
    """Begin a new generation: the runner sends the whole log again, and the old one is kept until that is right.

    A frozen log stays what it is.
    """
    await connection.execute(
        update(trace)
        .where(trace.c.job_id == job_id, ~trace.c.frozen)
        .values(
            generation=trace.c.generation + 1,
            earlier_size=trace.c.size,
            earlier_crc=trace.c.crc,
            size=0,
            crc=0,
            resent=True,
        )
    )


async def settle(connection: AsyncConnection, job_ids: Sequence[int]) -> None:
    """Before a freeze without the runner's word: a log that was being sent again is the longest that there is.

    A frozen log stays what it is.
    """
    if job_ids:
        await connection.execute(_MAX_CHUNK, {"b_jobs": sorted(job_ids)})


async def read(connection: AsyncConnection, job_id: int, generation: int, start: int, limit: int) -> bytes:
    """At most `limit` bytes of a log from offset `start`, as they were sent; fewer only where the log ends."""
    place = {"b_job": job_id, "b_generation": generation, "b_from": start, "b_to": start + limit}
    return b"".join((await connection.execute(_READ, place)).scalars().all())


@dataclass(frozen=True, slots=True)
class EndedTrace(TraceRow):
    """The log of a job that has ended; `coverage_pattern` finds the coverage in it, if the job has one.

    `script_at` is when its script began, if that is known.
    """

    project_id: int
    coverage_pattern: str | None
    started_at: datetime | None
    finished_at: datetime | None
    script_at: datetime | None


async def to_store(connection: AsyncConnection, limit: int) -> Sequence[EndedTrace]:
    """Logs of ended jobs that are still in the database."""
    statement = (
        select(trace, job.c.project_id, job.c.plan["coverage"].as_string().label("coverage_pattern"), *_RUN)
        .join(job, job.c.id == trace.c.job_id)
        .where(text(TO_STORE), trace.c.frozen)
        .order_by(trace.c.job_id)
        .limit(limit)
    )
    return all_of(EndedTrace, await connection.execute(statement))


async def copied(connection: AsyncConnection, job_id: int, generation: int, size: int) -> None:
    """The object was read back and is right: readers go to the store from now on."""
    await connection.execute(
        update(trace)
        .where(trace.c.job_id == job_id, trace.c.generation == generation, trace.c.size == size, trace.c.frozen)
        .values(copied=True)
    )


async def drop(connection: AsyncConnection, job_ids: Sequence[int], most: int) -> bool:
    """Delete at most `most` chunks of copied logs; true when none is left, and the logs are `stored`.

    What the database has of their indexes goes with the last chunk.
    """
    key = tuple_(chunk.c.job_id, chunk.c.generation, chunk.c.start)
    some = (
        select(chunk.c.job_id, chunk.c.generation, chunk.c.start)
        .join(trace, trace.c.job_id == chunk.c.job_id)
        .where(chunk.c.job_id.in_(job_ids), trace.c.copied)
        .limit(most)
    )
    deleted = await connection.execute(delete(chunk).where(key.in_(some)))
    if deleted.rowcount == most:
        return False
    is_copied = select(trace.c.job_id).where(trace.c.job_id.in_(job_ids), trace.c.copied)
    await connection.execute(delete(index).where(index.c.job_id.in_(is_copied)))
    await connection.execute(update(trace).where(trace.c.job_id.in_(job_ids), trace.c.copied).values(stored=True))
    return True
