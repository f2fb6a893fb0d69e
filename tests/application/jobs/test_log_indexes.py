"""Indexes of logs are read once, survive whoever made them, and go with the log."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from application.jobs import log_indexes
from application.jobs.log_indexes import GROWN, LARGE, SMALL, LogIndexes, has_grown
from domain.errors import NotFound
from domain.logs.index import BEGIN, Part, extended
from domain.logs.packing import unpacked
from domain.object_keys import trace_index_key
from domain.pipelines.status import Status
from loops.archiver import Archiver
from models.columns import table_of
from models.notifications import Notifications
from models.repositories.artifacts import job_objects
from models.repositories.logs import script_begins, trace_chunks, traces
from models.repositories.pipelines import job_rows
from models.repositories.queue import held_jobs
from models.tables.artifacts import ObjectToDelete
from models.tables.logs import TraceIndex
from models.tables.pipelines import Job
from storage.objects import ObjectStore
from tests.models.world import World

rows = table_of(TraceIndex)
job = table_of(Job)
LINE = b"section_start:1:a\r\x1b[31mline of a log that says what it does\x1b[0m\n"
LOG = LINE * (3 * GROWN // len(LINE)) + b"its end"


@dataclass(frozen=True)
class SomeLog:
    """A log as it was at one moment."""

    project_id: int
    job_id: int
    generation: int
    size: int
    frozen: bool
    copied: bool


@dataclass
class Kept:
    """A job that runs, with a log that grows; what was read of it is counted."""

    world: World
    store: ObjectStore
    job_id: int
    read: int = 0

    async def write(self, content: bytes) -> None:
        """As its runner does."""
        async with self.world.database.write_once() as connection:
            row = await held_jobs.look(connection, self.job_id)
            assert row is not None
            assert await trace_chunks.append(connection, [(row, content)])

    def indexes(self) -> LogIndexes:
        """As another process has them."""
        return LogIndexes(self.world.database, self.store)

    async def of(self, indexes: LogIndexes) -> Part:
        """The index now."""
        async with self.world.database.read() as connection:
            head = await traces.head(connection, self.job_id)
        log = SomeLog(self.world.project_id, self.job_id, head.generation, head.size, head.frozen, head.copied)

        async def bytes_of(start: int, end: int) -> AsyncIterator[bytes]:
            for place in range(start, end, 100_000):
                async with self.world.database.read() as connection:
                    part = await traces.read(connection, self.job_id, head.generation, place, min(100_000, end - place))
                self.read += len(part)
                yield part

        return await indexes.of(log, bytes_of)

    async def stored(self) -> list[Part]:
        """The parts that the database has."""
        found = await self.world.rows(rows, job_id=self.job_id)
        parts = [unpacked(row.content) for row in sorted(found, key=lambda row: int(row.start))]
        return [part for part in parts if part is not None]

    async def move(self) -> None:
        """End the job, and move its log into the store."""
        await self.world.end(self.job_id)
        assert await Archiver(self.world.database, self.store, Notifications()).move() == 1

    @property
    def key(self) -> str:
        """Where the index lies in the store."""
        return trace_index_key(self.world.project_id, self.job_id, 0)


@pytest.fixture
async def kept(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kept:
    """The log is empty yet; what the tests write in it is a large one."""
    monkeypatch.setattr(log_indexes, "LARGE", GROWN)
    await world.begin("one: {script: x}\n")
    return Kept(world, ObjectStore.open((tmp_path / "objects").as_uri()), await world.take())


def whole(log: bytes, *, is_last: bool) -> Part:
    return BEGIN.followed_by(extended(BEGIN.after, log, is_last=is_last))


async def test_what_was_read_is_not_read_again(kept: Kept) -> None:
    indexes = kept.indexes()
    for start in range(0, len(LOG), 500_000):
        await kept.write(LOG[start : start + 500_000])
        assert await kept.of(indexes) == whole(LOG[: start + 500_000], is_last=False)
    assert kept.read < len(LOG) + 10 * 2_000, "only the unfinished line is read twice"


async def test_another_process_goes_on_where_the_first_one_was_killed(kept: Kept) -> None:
    await kept.write(LOG[:2_000_000])
    first = await kept.of(kept.indexes())
    saved = (await kept.stored())[-1].after.offset
    assert saved > 2_000_000 - GROWN
    await kept.write(LOG[2_000_000:])
    kept.read = 0
    assert await kept.of(kept.indexes()) == whole(LOG, is_last=False)
    assert kept.read == len(LOG) - saved
    assert first.checkpoints == whole(LOG, is_last=False).checkpoints[: len(first.checkpoints)]


async def test_processes_that_read_at_once_agree(kept: Kept) -> None:
    await kept.write(LOG[:1_500_000])
    several = [kept.indexes() for _ in range(4)]
    found = await asyncio.gather(*(kept.of(indexes) for indexes in several))
    await kept.write(LOG[1_500_000:])
    found += await asyncio.gather(*(kept.of(indexes) for indexes in reversed(several)))
    assert found == [whole(LOG[:1_500_000], is_last=False)] * 4 + [whole(LOG, is_last=False)] * 4
    assert await kept.of(kept.indexes()) == whole(LOG, is_last=False)


async def test_a_short_log_leaves_nothing_behind(kept: Kept) -> None:
    await kept.write(LOG[: SMALL // 2])
    await kept.of(kept.indexes())
    assert await kept.stored() == []


async def test_a_generation_has_an_index_of_its_own(kept: Kept) -> None:
    indexes = kept.indexes()
    await kept.write(LOG)
    await kept.of(indexes)
    async with kept.world.database.write() as connection:
        await traces.restart(connection, kept.job_id)
    assert await kept.of(indexes) == BEGIN
    await kept.write(b"another\n")
    assert await kept.of(indexes) == whole(b"another\n", is_last=False)


async def test_the_index_moves_with_the_log_and_is_deleted_with_it(kept: Kept) -> None:
    await kept.write(LOG)
    await kept.of(kept.indexes())
    await kept.move()
    assert await kept.stored() == []
    kept.read = 0
    assert await kept.of(kept.indexes()) == whole(LOG, is_last=True)
    assert kept.read == 0
    async with kept.world.database.write() as connection:
        await job_objects.erase(connection, kept.job_id, kept.world.now())
    assert kept.key in {row.object_key for row in await kept.world.rows(table_of(ObjectToDelete))}


async def test_an_index_that_is_lost_is_made_anew_from_the_log(kept: Kept) -> None:
    await kept.write(LOG)
    await kept.move()
    await kept.store.delete(kept.key)
    log = SomeLog(kept.world.project_id, kept.job_id, 0, len(LOG), frozen=True, copied=True)

    async def from_store(start: int, end: int) -> AsyncIterator[bytes]:
        yield LOG[start:end]

    assert await kept.indexes().of(log, from_store) == whole(LOG, is_last=True)
    assert await kept.store.size(kept.key) > 0


async def test_nothing_is_kept_of_a_log_that_is_gone_meanwhile(kept: Kept) -> None:
    await kept.write(LOG)
    await kept.world.end(kept.job_id)
    async with kept.world.database.write() as connection:
        await job_objects.erase(connection, kept.job_id, kept.world.now())
    log = SomeLog(kept.world.project_id, kept.job_id, 0, len(LOG), frozen=False, copied=False)

    async def as_it_was(start: int, end: int) -> AsyncIterator[bytes]:
        yield LOG[start:end]

    assert await kept.indexes().of(log, as_it_was) == whole(LOG, is_last=False)
    assert await kept.stored() == []


async def test_the_beginning_of_the_script_is_kept_when_its_mark_is_first_met(kept: Kept) -> None:
    indexes = kept.indexes()
    run = await kept.world.row(job, id=kept.job_id)
    begin = int(run.started_at.timestamp()) + 5
    await kept.write(LINE)
    await kept.of(indexes)
    assert (await kept.world.row(job, id=kept.job_id)).script_at is None
    await kept.write(b"section_start:%d:step_script[collapsed=true]\r\x1b[0KGo\n" % begin)
    await kept.write(b"section_start:%d:step_script\r\x1b[0KAgain\n" % (begin + 1))
    await asyncio.gather(*(kept.of(one) for one in (indexes, kept.indexes(), kept.indexes())))
    found = (await kept.world.row(job, id=kept.job_id)).script_at
    assert found == datetime.fromtimestamp(begin, UTC)
    async with kept.world.database.read() as connection:
        assert await script_begins.unknown(connection, kept.job_id) is None


async def test_a_mark_from_the_future_says_nothing_of_the_script(kept: Kept) -> None:
    await kept.write(b"section_start:253402300000:step_script\r\x1b[0KGo\n")
    await kept.of(kept.indexes())
    assert (await kept.world.row(job, id=kept.job_id)).script_at is None


async def test_a_job_that_waits_again_knows_no_beginning_of_its_script(kept: Kept) -> None:
    begun = (await kept.world.row(job, id=kept.job_id)).started_at
    async with kept.world.database.write() as connection:
        run = await script_begins.unknown(connection, kept.job_id)
        assert run is not None
        await script_begins.put(connection, replace(run, started_at=begun - timedelta(seconds=9)), begun)
    assert (await kept.world.row(job, id=kept.job_id)).script_at is None, "that was another run"
    async with kept.world.database.write() as connection:
        await script_begins.put(connection, run, begun + timedelta(seconds=1))
    assert (await kept.world.row(job, id=kept.job_id)).script_at == begun + timedelta(seconds=1)
    async with kept.world.database.write() as connection:
        await job_rows.move(connection, [kept.job_id], Status.PENDING, kept.world.now())
    assert (await kept.world.row(job, id=kept.job_id)).script_at is None


@pytest.mark.parametrize(
    ("before", "size", "is_due"),
    [(0, 100, False), (GROWN - 1, 1, False), (LARGE - 1, 2, True), (LARGE, 100, False), (LARGE + GROWN - 1, 1, True)],
)
def test_only_large_logs_are_read_while_nobody_looks(before: int, size: int, is_due: bool) -> None:
    assert has_grown(before, size) is is_due


async def test_a_smaller_log_gets_its_index_when_somebody_looks(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_indexes, "LARGE", LARGE)
    await kept.write(LOG)
    await kept.move()
    with pytest.raises(NotFound):
        await kept.store.size(kept.key)
    log = SomeLog(kept.world.project_id, kept.job_id, 0, len(LOG), frozen=True, copied=True)

    async def from_store(start: int, end: int) -> AsyncIterator[bytes]:
        yield LOG[start:end]

    assert await kept.indexes().of(log, from_store) == whole(LOG, is_last=True)
    assert await kept.store.size(kept.key) > 0
