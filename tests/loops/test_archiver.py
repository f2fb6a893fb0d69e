"""The log of an ended job leaves the database only when the store gives back the same bytes."""

import zlib
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

import pytest
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.errors import Unavailable
from domain.object_keys import trace_key
from loops.archiver import Archiver
from models.columns import table_of
from models.notifications import Notifications
from models.repositories.logs import trace_chunks, traces
from models.repositories.queue import held_jobs
from models.tables.logs import TraceChunk
from models.tables.pipelines import Job
from storage.objects import ObjectStore, Stored
from tests.models.world import World

chunk = table_of(TraceChunk)
job = table_of(Job)
LOG = b"0123456789" * 300
PIECE = 1000


class FaultyStore(ObjectStore):
    """A store of files that keeps something else than it was given, or cannot be read."""

    fault: ClassVar[str] = ""

    async def put(
        self, key: str, chunks: AsyncIterator[bytes] | bytes, limit: int | None = None, limit_set_by: str = ""
    ) -> Stored:
        """Store all but the end, or with a byte changed."""
        assert not isinstance(chunks, bytes)
        content = b"".join([part async for part in chunks])
        broken = {"cut": content[:-1], "changed": b"!" + content[1:]}.get(self.fault, content)
        return await super().put(key, broken, limit)

    async def read(self, key: str, start: int = 0, end: int | None = None) -> AsyncIterator[bytes]:
        """Break off in the middle."""
        async for part in super().read(key, start, end):
            yield part
            if self.fault == "away":
                raise Unavailable("The store is away, on purpose.")


class NoStore(ObjectStore):
    """A store that nothing is written to."""

    async def put(self, key: str, *_given: Any, **_named: Any) -> Stored:
        """Refuse."""
        raise AssertionError(f"{key} is written again")


class Moving:
    """A world with one job whose log is frozen, and the archiver that moves it."""

    def __init__(self, world: World, root: Path, job_id: int) -> None:
        self.world = world
        self.root = root
        self.job_id = job_id

    async def move(self, kind: type[ObjectStore] = ObjectStore) -> int:
        """Move what is ready into a store of this kind; how many logs were moved."""
        store = kind.open(self.root.as_uri())
        return await Archiver(self.world.database, store, Notifications()).move()

    async def chunks(self) -> bytes:
        """What the database still holds."""
        return b"".join(row.content for row in await self.world.rows(chunk, job_id=self.job_id))

    async def stored(self) -> bytes:
        """What the store holds."""
        key = trace_key(self.world.project_id, self.job_id, 0)
        return b"".join([part async for part in ObjectStore.open(self.root.as_uri()).read(key)])


@pytest.fixture
async def moving(world: World, tmp_path: Path) -> Moving:
    """A job with three pieces of log has ended."""
    await world.begin("one: {script: x}\n")
    job_id = await world.take()
    async with world.database.write() as connection:
        for start in range(0, len(LOG), PIECE):
            row = await held_jobs.look(connection, job_id)
            assert row is not None
            await trace_chunks.append(connection, [(row, LOG[start : start + PIECE])])
    return Moving(world, tmp_path / "objects", job_id)


async def test_a_log_is_moved_when_its_job_has_ended_and_once(moving: Moving) -> None:
    assert await moving.move() == 0
    await moving.world.end(moving.job_id)
    assert await moving.move() == 1
    assert (await moving.chunks(), await moving.stored()) == (b"", LOG)
    assert await moving.move() == 0


@pytest.mark.parametrize("fault", ["cut", "changed", "away"])
async def test_a_log_stays_in_the_database_until_the_store_gives_it_back_unchanged(
    moving: Moving, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await moving.world.end(moving.job_id)
    monkeypatch.setattr(FaultyStore, "fault", fault)
    assert await moving.move(FaultyStore) == 0
    assert await moving.chunks() == LOG
    assert await moving.move() == 1
    assert (await moving.chunks(), zlib.crc32(await moving.stored())) == (b"", zlib.crc32(LOG))


async def test_killed_between_the_object_and_the_end_of_the_chunks_it_is_done_again(
    moving: Moving, monkeypatch: pytest.MonkeyPatch
) -> None:
    await moving.world.end(moving.job_id)
    copied = traces.copied

    async def killed(connection: AsyncConnection, *given: Any) -> None:
        await copied(connection, *given)
        raise RuntimeError("on purpose")

    monkeypatch.setattr(traces, "copied", killed)
    with pytest.raises(RuntimeError, match="on purpose"):
        await moving.move()
    assert (await moving.chunks(), await moving.stored()) == (LOG, LOG)
    monkeypatch.setattr(traces, "copied", copied)
    assert await moving.move() == 1
    assert (await moving.chunks(), await moving.stored()) == (b"", LOG)


async def test_chunks_go_in_portions_and_what_a_killed_process_left_of_them_goes_later(
    moving: Moving, monkeypatch: pytest.MonkeyPatch
) -> None:
    await moving.world.end(moving.job_id)
    drop, calls = traces.drop, 0

    async def killed(connection: AsyncConnection, *given: Any) -> bool:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise RuntimeError("on purpose")
        return await drop(connection, *given)

    monkeypatch.setattr("loops.archiver.PORTION", 1)
    monkeypatch.setattr(traces, "drop", killed)
    with pytest.raises(RuntimeError, match="on purpose"):
        await moving.move()
    assert len(await moving.chunks()) == len(LOG) - PIECE
    async with moving.world.database.read() as connection:
        assert (await traces.head(connection, moving.job_id)).copied  # readers are at the store already
    assert await moving.move(NoStore) == 1
    assert (await moving.chunks(), await moving.stored(), calls) == (b"", LOG, 2 + len(LOG) // PIECE)
    assert await moving.move() == 0


@pytest.mark.parametrize(
    ("pattern", "log", "found"),
    [
        ("coverage: '/total (\\d+\\.\\d+)%/', ", b"total 12.5%\r\ntotal 88.25%\ngood bye\n", 88.25),
        ("coverage: '/total (\\d+)%/', ", b"total 7%\n" + b"a line of 32 bytes in this log..\n" * 70_000, 7),
        ("coverage: '/total (\\d+)%/', ", b"no such line\n", None),
        ("", b"total 12%\n", None),
    ],
)
async def test_the_coverage_is_found_in_the_log(
    world: World, tmp_path: Path, pattern: str, log: bytes, found: float | None
) -> None:
    """Also where it stands some megabytes before the end."""
    await world.begin(f"one: {{{pattern}script: x}}\n")
    job_id = await world.take()
    async with world.database.write() as connection:
        row = await held_jobs.look(connection, job_id)
        assert row is not None
        await trace_chunks.append(connection, [(row, log)])
    await world.end(job_id)
    assert await Moving(world, tmp_path / "objects", job_id).move() == 1
    (row,) = await world.rows(table_of(Job), id=job_id)
    assert row.coverage == found


@pytest.mark.parametrize("kind", ["known", "cut in pieces", "long ago", "in a year", "no script"])
async def test_when_the_script_began_is_kept_with_the_job_of_every_log_that_is_moved(
    world: World, tmp_path: Path, kind: str
) -> None:
    await world.begin("one: {script: x}\n")
    job_id = await world.take()
    begun = (await world.row(job, id=job_id)).started_at
    world.seconds += 60
    seconds = int(begun.timestamp()) + {"long ago": -3_000, "in a year": 31_536_000}.get(kind, 20)
    name = "other" if kind == "no script" else "step_script"
    mark = f"section_start:{seconds}:{name}\r\x1b[0KGo\nsection_start:{seconds + 5}:step_x\r".encode()
    log = b"Preparing\n" * 100_000 + mark
    cut = len(log) - len(mark) + (23 if kind == "cut in pieces" else 0)
    async with world.database.write() as connection:
        for part in (log[:500_000], log[500_000:cut], log[cut:]):
            if part:
                row = await held_jobs.look(connection, job_id)
                assert row is not None
                await trace_chunks.append(connection, [(row, part)])
    await world.end(job_id)
    assert (await world.row(job, id=job_id)).script_at is None
    assert await Archiver(world.database, ObjectStore.open((tmp_path / "o").as_uri()), Notifications()).move() == 1
    found = (await world.row(job, id=job_id)).script_at
    is_kept = kind in {"known", "cut in pieces"}
    assert found == (datetime.fromtimestamp(seconds, UTC) if is_kept else None)
