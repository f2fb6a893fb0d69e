"""Whoever follows a run whose files grow: also when a look at them comes in the middle of a write."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from domain.steps.runs import RunState, RunStatus
from steps.engine.log_files import ORDER, ORDER_RECORD, STDERR, STDOUT
from steps.engine.run_folder import RESULTS, RunFolder
from steps.service import following
from steps.service.events import follow_events
from steps.service.following import follow_log
from steps.service.watching import Watched
from tests.waiting import HANGS, eventually

ENOUGH: Final = 1_000
"""So many reads of a few bytes are those of somebody who lets nobody else do anything."""

Follow = Callable[[Watched], AsyncIterator[Any]]
FOLLOWERS: Final[dict[str, Follow]] = {
    "log": lambda watched: follow_log(watched, 0),
    "events": lambda watched: follow_events(watched, 0, 0),
}


async def _nobody(_folder: RunFolder) -> None:
    """No run is lost here."""


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    """A run at work that has written a piece of ten bytes, and three of the next."""
    for name in (STDERR, RESULTS):
        (tmp_path / name).touch()
    (tmp_path / STDOUT).write_bytes(b"a" * 10 + b"b" * 3)
    (tmp_path / ORDER).write_bytes(ORDER_RECORD.pack(10 << 1))
    found = Watched(RunFolder(tmp_path), _nobody, state=RunState(RunStatus.RUNNING))
    found._look()
    return found


@pytest.fixture(autouse=True)
def _reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a follower that reads without end fail instead of hanging."""
    read, count = following._read_now, iter(range(ENOUGH))

    def counted(*given: Any) -> bytes:
        assert next(count, None) is not None, "it reads again and again"
        return read(*given)

    monkeypatch.setattr(following, "_read_now", counted)


@pytest.mark.parametrize("order", ["before what is written", "with the rest", "after it was seen"])
@pytest.mark.parametrize("name", FOLLOWERS)
async def test_the_rest_of_a_piece_is_waited_for(watched: Watched, name: str, order: str) -> None:
    path, got = watched.folder.path, bytearray()

    async def read() -> None:
        async for data in FOLLOWERS[name](watched):
            got.extend(data)

    def append(file: str, data: bytes) -> None:
        with (path / file).open("ab") as out:
            out.write(data)

    second = ORDER_RECORD.pack(10 << 1)
    if order == "before what is written":
        append(ORDER, second)
    reading = asyncio.create_task(read())
    await eventually(lambda: _is(bytes(got) == b"a" * 10 or reading.done()), "the first piece is read")
    append(STDOUT, b"b" * 7)
    if order == "with the rest":
        append(ORDER, second)
    watched._look()
    await asyncio.sleep(0)
    if order == "after it was seen":
        append(ORDER, second)
        watched._look()
    await eventually(lambda: _is(len(got) == 20 or reading.done()), "the second piece is read")
    watched.state = replace(watched.state, status=RunStatus.SUCCESS)
    watched._wake()
    await asyncio.wait_for(reading, HANGS)
    assert bytes(got) == b"a" * 10 + b"b" * 10


async def _is(found: bool) -> bool:  # what `eventually` awaits
    return found
