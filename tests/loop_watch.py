"""Nothing of ours may hold up the event loop: a plugin that fails each test in which a callback did.

A callback of a loop of the main thread holds everybody up when it computes for `COMPUTES` seconds, or sleeps in one
call of the system for `SLEEPS`. What it computes is processor time of its own thread, and a sleep is one that nothing
interrupted (who waits for the interpreter's lock wakes up all the time), so a busy machine raises no alarm. Nor does a
slow one: the seconds are those of a processor that does a known piece of work in `NORMAL`, meanwhile. A thread
beside the loop looks at long callbacks, and counts what it sees done by a coroutine or a callback of ours: what a test,
or something that a test hands in, does itself does not count. The command line is left out: nobody else waits for its
loop. Tests that start processes do not see into them.
"""

import gc
import inspect
import sys
import threading
import time
from asyncio import events
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, starmap
from operator import attrgetter
from pathlib import Path
from types import FrameType
from typing import Final, NamedTuple

import pytest

COMPUTES: Final = 0.25
SLEEPS: Final = 1.0
NORMAL: Final = 0.0005
"""Seconds that `pace` is on a core that nobody else uses; a core whose other half is busy takes twice as long."""
MARKER: Final = "blocks_the_loop"
_EVERY: Final = 0.025
_WHOLE: Final = 2
"""The generation of garbage in which everything is looked at."""
_ROOT: Final = Path(__file__).parents[1]
_NOBODY_WAITS: Final = {"tests", "bench", "rigs", "cli", "examples"}
_OURS: Final = tuple(
    f"{folder}/"
    for folder in _ROOT.iterdir()
    if folder.name not in _NOBODY_WAITS and (folder / "__init__.py").is_file()
)
_DRIVER: Final = "/sqlalchemy/engine/default.py"
"""Where SQLAlchemy hands a statement to SQLite: in the loop's thread by design, and as slow as the disk is busy."""
_TESTS: Final = f"{_ROOT / 'tests'}/"
_STARTS: Final = (f"{_ROOT / 'api' / 'startup.py'}", f"{_ROOT / 'models' / 'migrations'}/")
"""What runs before anybody is served: the first password is hashed, tables are made."""
_COROUTINE: Final = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


def pace() -> float:
    """The seconds of processor time that a known piece of work takes now."""
    begun = time.thread_time()
    sum(number * number for number in range(10_000))
    return time.thread_time() - begun


class Place(NamedTuple):
    """Where code of ours was seen; the outermost frame of it, its `owner`; and whether that `is_called` by a test."""

    line: str
    owner: FrameType
    is_called: bool


class LoopWatch:
    """Looks at the callbacks of one thread's loops, those of the thread that makes it."""

    def __init__(self, pace: Callable[[], float] = pace) -> None:
        self._pace = pace
        self._thread = threading.get_ident()
        self._clock = time.pthread_getcpuclockid(self._thread)
        self._state = Path(f"/proc/self/task/{threading.get_native_id()}/status")
        self._begun: float | None = None
        self._garbage = self._collecting = 0.0
        self._is_collecting = False
        self._faults: dict[float, str] = {}
        self._call: _Call | None = None
        self._over = threading.Event()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Look at every callback until the end of the block."""
        ours, run = self._thread, events.Handle._run

        def watched(handle: events.Handle) -> None:
            if threading.get_ident() != ours:
                return run(handle)
            self._begun = time.thread_time() - self._garbage
            try:
                return run(handle)
            finally:
                self._begun = None

        gc.callbacks.append(self._collect)
        looking = threading.Thread(target=self._look_on, name="loop watch", daemon=True)
        looking.start()
        try:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(events.Handle, "_run", watched)
                yield
        finally:
            gc.callbacks.remove(self._collect)
            self._over.set()
            looking.join()

    def _collect(self, phase: str, about: dict[str, int]) -> None:
        """A whole run of tests leaves far more to be looked at than a server has: its garbage is nobody's fault."""
        if about["generation"] < _WHOLE or threading.get_ident() != self._thread:
            return
        if phase == "start":
            self._is_collecting = True
            self._collecting = time.thread_time()
        else:
            self._garbage += time.thread_time() - self._collecting
            self._is_collecting = False

    def faults(self) -> list[str]:
        """What has held up the loop since the last call: where, and how long."""
        found, self._faults = self._faults, {}
        return list(found.values())

    def _look_on(self) -> None:
        while not self._over.wait(_EVERY):
            self._look()

    def _look(self) -> None:
        begun = self._begun
        if begun is None:
            self._call = None
            return
        if self._call is None or self._call.begun != begun:
            self._call = _Call(begun)
        call, place = self._call, whose(stack_of(self._thread))
        now, state = self._now(), self._sleep()
        if self._begun != begun or now is None:  # it ended while we looked, or cannot be told
            return
        if fault := call.seen(place, now, state, self._pace()):
            self._faults[begun] = fault

    def _now(self) -> float | None:
        """The processor time of the thread without its garbage; None while some is collected.

        The two threads may change over at any place, also where the collection is over and not noted yet.
        """
        before = self._garbage, self._is_collecting
        now = time.clock_gettime(self._clock)
        return now - before[0] if before == (self._garbage, False) else None

    def _sleep(self) -> str:
        """Changes with every switch from or to another thread; empty unless the thread sleeps."""
        try:
            lines = dict(line.split(":\t", 1) for line in self._state.read_text().splitlines() if ":\t" in line)
        except OSError:  # no Linux: sleeps are not seen
            return ""
        return "".join(lines[key] for key in lines if key.endswith("ctxt_switches")) if lines["State"][0] == "S" else ""


class _Call:
    """One callback that takes long."""

    def __init__(self, begun: float) -> None:
        self.begun = begun
        self._last = begun
        self._owner: FrameType | None = None
        self._computed: defaultdict[str, float] = defaultdict(float)
        self._asleep = ("", 0.0)
        self._paces: list[float] = []

    def seen(self, place: Place | None, now: float, state: str, pace: float) -> str | None:
        """What it has computed since the last look was done where it is seen now. Returns what is wrong with it.

        A test may make many calls in one callback, each of which counts for itself, from when it is first seen.
        """
        spent, self._last = now - self._last, now
        self._paces.append(pace)
        if state != self._asleep[0]:
            self._asleep = (state, time.monotonic())
        if place is None:
            return None
        if place.owner is not self._owner:
            self._owner, self._computed = place.owner, defaultdict(float)
            spent = 0.0 if place.is_called else spent
        self._computed[place.line] += spent
        return self._judged(place.owner.f_code.co_qualname, place.line, time.monotonic() - self._asleep[1])

    def _judged(self, name: str, line: str, slept: float) -> str | None:
        if self._asleep[0] and slept > SLEEPS:
            return f"{name} slept {slept:.2f} s on the event loop, in {line}"
        slowness = max(1.0, sum(self._paces) / len(self._paces) / NORMAL)
        if (seconds := sum(self._computed.values())) > COMPUTES * slowness:
            most = max(self._computed, key=self._computed.__getitem__)
            return f"{name} computed {seconds:.2f} s on the event loop, {self._computed[most]:.2f} s of it in {most}"
        return None


def stack_of(thread: int) -> Sequence[FrameType]:
    """The frames of another thread, the innermost first; none if it runs nothing.

    They are gathered without a step of Python, in which that thread could go on: CPython 3.11 crashes at times over who
    asks a frame for the one below while it returns. For the same reason no garbage is collected meanwhile.
    """
    frames: list[FrameType | None] = []
    innermost = map(dict.get, starmap(sys._current_frames, ((),)), (thread,))
    is_collecting = gc.isenabled()
    gc.disable()
    try:
        frames.extend(chain(innermost, map(attrgetter("f_back"), frames)))
    except AttributeError:
        pass  # the last is None, which is below the outermost
    finally:
        if is_collecting:
            gc.enable()
    return [frame for frame in frames if frame is not None]


def whose(stack: Sequence[FrameType]) -> Place | None:
    """Where in code of ours a stack is; None where a test, or what it hands in, does something itself, and at a start.

    A coroutine of ours between the test and the work makes it ours: a test that calls a function of ours stands where a
    thread would. Statements of SQL run on a stack of their own, which does not say who waits for them.
    """
    if stack and stack[0].f_code.co_filename.endswith(_DRIVER):
        return None
    test = innermost = owner = last = None
    is_coroutine = False
    for frame in stack:
        if frame.f_code.co_filename.startswith(_TESTS):
            test = frame
            break
        if frame.f_code.co_filename.startswith(_STARTS):
            return None
        if frame.f_code.co_filename.startswith(_OURS):
            innermost, owner = innermost or frame, frame
            is_coroutine = is_coroutine or bool(frame.f_code.co_flags & _COROUTINE)
        last = frame
    is_called = test is None or test.f_code.co_filename != __file__
    if test is None and last is not None:
        return Place(_line(innermost or last), owner or last, is_called)
    if innermost is None or owner is None or (is_called and not is_coroutine):
        return None
    return Place(_line(innermost), owner, is_called)


def _line(frame: FrameType) -> str:
    file = Path(frame.f_code.co_filename)
    return f"{file.relative_to(_ROOT) if file.is_relative_to(_ROOT) else file}:{frame.f_lineno}"


class Plugin:
    """Fails whatever part of a test was running when something of ours held up the loop."""

    def __init__(self) -> None:
        self._watch = LoopWatch()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        """Watch while tests run."""
        with self._watch.watching():
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, object, object]:
        """Look at what the fixtures did."""
        return (yield from self._judged(item))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Look at what the test did."""
        return (yield from self._judged(item))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, object, object]:
        """Look at what the end of the fixtures did."""
        return (yield from self._judged(item))

    def _judged(self, item: pytest.Item) -> Generator[None, object, object]:
        try:
            return (yield)
        finally:
            faults = self._watch.faults()
            if faults and not item.get_closest_marker(MARKER):
                pytest.fail("; ".join(faults), pytrace=False)


def pytest_configure(config: pytest.Config) -> None:
    """Watch each run, in each of its processes."""
    config.addinivalue_line("markers", f"{MARKER}(reason): why this test may hold up the event loop")
    config.pluginmanager.register(Plugin())
