"""The watch over the event loop sees what holds it up, and nothing else."""

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import pytest

from tests.loop_watch import COMPUTES, NORMAL, SLEEPS, LoopWatch

pytestmark = pytest.mark.slow  # each test computes for as long as nothing else may
ROOT: Final = Path(__file__).parents[1]
OURS_FILE: Final = str(ROOT / "api" / "slow.py")
OURS: Final = """
import asyncio, subprocess, time

def compute(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass

async def computes(seconds):
    compute(seconds)

async def waits(work, seconds):
    await asyncio.sleep(0)
    work(seconds)

async def sleeps(seconds):
    time.sleep(seconds)

async def runs(seconds):
    subprocess.run(["sleep", str(seconds)])

async def yields(seconds, turns):
    for _ in range(turns):
        compute(seconds / turns)
        await asyncio.sleep(0)

async def asks(seconds):
    await asyncio.to_thread(time.sleep, seconds)

async def calls_back(seconds):
    asyncio.get_running_loop().call_soon(compute, seconds)
    await asyncio.sleep(0.01)
"""


@pytest.fixture(scope="module")
def ours() -> SimpleNamespace:
    """Functions that look as if they were ours."""
    found: dict[str, Any] = {}
    exec(compile(OURS, OURS_FILE, "exec"), found)
    return SimpleNamespace(**found)


def watched(work: Callable[[], Awaitable[object]], pace: float = NORMAL) -> list[str]:
    """What the watch says about some work, in a thread of its own: the watch of the suite does not look at it."""

    async def run() -> None:
        await work()

    def watch() -> list[str]:
        watch = LoopWatch(lambda: pace)
        with watch.watching():
            asyncio.run(run())
        return watch.faults()

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(watch).result()


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("computes", "computes computed"),
        ("calls_back", "compute computed"),
        ("sleeps", "sleeps slept"),
        ("runs", "runs slept"),
    ],
)
def test_what_holds_up_the_loop_is_named(ours: SimpleNamespace, name: str, line: str) -> None:
    seconds = SLEEPS + 0.3 if "slept" in line else COMPUTES + 0.1
    (fault,) = watched(lambda: getattr(ours, name)(seconds))
    assert fault.startswith(line), fault
    assert "api/slow.py:" in fault


def test_work_that_yields_holds_up_nobody(ours: SimpleNamespace) -> None:
    assert not watched(lambda: ours.yields(3 * COMPUTES, 30))
    assert not watched(lambda: ours.asks(SLEEPS + 0.3))


def test_a_slow_processor_is_no_fault(ours: SimpleNamespace) -> None:
    assert not watched(lambda: ours.computes(COMPUTES + 0.1), pace=2 * NORMAL)
    assert watched(lambda: ours.computes(COMPUTES + 0.1), pace=NORMAL / 2)


def test_what_a_test_does_itself_does_not_count(ours: SimpleNamespace) -> None:
    async def test() -> None:
        ours.compute(COMPUTES + 0.1)
        await ours.waits(lambda seconds: ours.compute(seconds), COMPUTES + 0.1)

    assert not watched(test)


def test_each_call_of_many_that_a_test_makes_counts_for_itself(ours: SimpleNamespace) -> None:
    async def test() -> None:
        for _ in range(6):
            await ours.computes(COMPUTES / 3)

    assert not watched(test)


def test_a_busy_machine_is_no_fault(ours: SimpleNamespace) -> None:
    """Other threads take the interpreter's lock, so that a little work takes long."""
    over = threading.Event()

    def busy() -> None:
        while not over.is_set():
            ours.compute(0.01)

    with ThreadPoolExecutor(4) as others:
        for _ in range(4):
            others.submit(busy)
        begin = time.monotonic()
        assert not watched(lambda: ours.computes(COMPUTES - 0.1))
        took = time.monotonic() - begin
        over.set()
    assert took > COMPUTES


TESTS: Final = """
import pytest
exec(compile({ours!r}, {file!r}, "exec"))

def test_blocks():
    asyncio.run(computes({seconds}))

@pytest.mark.blocks_the_loop("it is meant to")
def test_may_block():
    asyncio.run(computes({seconds}))

def test_does_nothing():
    pass
"""


def test_the_test_that_ran_fails(tmp_path: Path) -> None:
    file = tmp_path / "test_blocked.py"
    file.write_text(TESTS.format(ours=OURS, file=OURS_FILE, seconds=6 * COMPUTES))
    command: list[str | Path] = [sys.executable, "-m", "pytest", "-q", "-p", "tests.loop_watch", "--noconftest", file]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    assert "1 failed, 2 passed" in printed, printed
    assert "_ test_blocks _" in printed
    assert "computes computed" in printed


def test_nothing_is_judged_while_garbage_is_collected() -> None:
    """The threads may change over within a collection, in a finalizer for instance, when its time is not known yet."""
    watch = LoopWatch()
    whole = {"generation": 2}
    before = watch._now()
    watch._collect("start", whole)
    assert watch._now() is None
    end = time.thread_time() + 0.1
    while time.thread_time() < end:
        pass
    watch._collect("stop", whole)
    after = watch._now()
    assert before is not None
    assert after is not None
    assert after - before < 0.05
