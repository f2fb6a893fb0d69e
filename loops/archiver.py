"""The archiver: moves the log of an ended job from the database into one object of the store.

What the log says of the coverage, and of when the script began, is found on the way, once, and its index goes with it.
Chunks are deleted only up to the length that was frozen, and only after the object was read back with the same CRC.
"""

import asyncio
import zlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import datetime
from functools import partial

import structlog

from application.jobs.log_indexes import LogIndexes
from domain.errors import PerdureError
from domain.object_keys import trace_key
from domain.pipelines.script_begin import BeginSearch
from loops.coverage import coverage_of
from models.notifications import TRACES, Notifications
from models.repositories.logs import coverage, script_begins, traces
from models.repositories.logs.traces import EndedTrace
from models.session import Database
from storage.objects import ObjectStore

BATCH = 50
PART = 1024 * 1024
PORTION = 128
"""Chunks that are deleted in one transaction."""
IDLE = 5.0
MAX_LINGER = 30.0
LINGER = 1.0
"""Seconds in which further logs may end, to be moved together."""

log = structlog.get_logger()


class Archiver:
    """Moves logs until it is cancelled."""

    def __init__(
        self,
        database: Database,
        store: ObjectStore,
        notifications: Notifications,
        is_busy: Callable[[], bool] = lambda: False,
    ) -> None:
        """`is_busy` tells whether jobs wait."""
        self._is_busy = is_busy
        self._database = database
        self._store = store
        self._indexes = LogIndexes(database, store)
        self._notifications = notifications

    async def run(self) -> None:
        """Move for ever."""
        while True:
            moved = 0
            try:
                moved = await self.move()
            except Exception:
                log.exception("moving logs failed; it is tried again")
            if not moved and await self._notifications.wait(TRACES, IDLE):
                await self._quiet()

    async def _quiet(self) -> None:
        """Let the logs of other jobs come too; while jobs wait for runners there are better things to do."""
        deadline = asyncio.get_running_loop().time() + MAX_LINGER
        await asyncio.sleep(LINGER)
        while self._is_busy() and asyncio.get_running_loop().time() < deadline:  # noqa: ASYNC110  # a state, no event
            await asyncio.sleep(LINGER)

    async def move(self) -> int:
        """Move every log that is ready; give back how many."""
        async with self._database.read() as connection:
            rows = await traces.to_store(connection, BATCH)
        begins = {row.job_id: BeginSearch() for row in rows}
        ready = [row for row in rows if row.copied or await self._is_copied(row, begins[row.job_id])]
        if ready:
            await self._drop(ready, {job_id: one.found for job_id, one in begins.items() if one.found is not None})
        return len(ready)

    async def _drop(self, rows: Sequence[EndedTrace], begins: Mapping[int, datetime]) -> None:
        """Send readers to the store, then delete what the database holds, in portions: others write in between.

        `begins` are those of scripts, by job.
        """
        ids, is_over = [row.job_id for row in rows], False
        found = {row.job_id: await coverage_of(self._database, row) for row in rows if not row.copied}
        async with self._database.write() as connection:
            for row in rows:
                if (value := found.get(row.job_id)) is not None:
                    await coverage.put(connection, {row.job_id: value})
                if row.started_at is not None and row.script_at is None and row.job_id in begins:
                    run = script_begins.Run(row.job_id, row.started_at, row.finished_at)
                    await script_begins.put(connection, run, begins[row.job_id])
                await traces.copied(connection, row.job_id, row.generation, row.size)
            is_over = await traces.drop(connection, ids, PORTION)
        while not is_over:
            async with self._database.write() as connection:
                is_over = await traces.drop(connection, ids, PORTION)

    async def _is_copied(self, row: EndedTrace, begin: BeginSearch) -> bool:
        try:
            return await self._copy(row, begin)
        except PerdureError as error:
            log.warning("a log stays in the database for now", job=row.job_id, error=str(error))
            return False

    async def _copy(self, row: EndedTrace, begin: BeginSearch) -> bool:
        """Write the object and read it back; whether it is right."""
        key = trace_key(row.project_id, row.job_id, row.generation)
        await self._store.put(key, _read_by(begin, self._chunks(row)))
        crc = 0
        async for part in self._store.read(key):
            crc = zlib.crc32(part, crc)
        if crc != row.crc:
            log.error("a stored log reads back differently; it stays in the database", job=row.job_id)
            return False
        await self._indexes.put(row, partial(self._chunks, row))
        return True

    async def _chunks(self, row: EndedTrace, start: int = 0, end: int | None = None) -> AsyncIterator[bytes]:
        end = row.size if end is None else end
        while start < end:
            async with self._database.read() as connection:
                part = await traces.read(connection, row.job_id, row.generation, start, min(PART, end - start))
            if not part:
                return
            start += len(part)
            yield part


async def _read_by(begin: BeginSearch, parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    async for part in parts:
        begin.look(part)
        yield part
