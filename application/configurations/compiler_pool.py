"""The processes in which configurations are compiled. They import the compiler and nothing of the server.

So each costs 16 MiB of its own instead of 116, and starts in a ninth of the time.
"""

import gc
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from ctypes import c_bool
from multiprocessing.context import SpawnContext, SpawnProcess
from multiprocessing.sharedctypes import RawArray
from types import FrameType, ModuleType
from typing import Any, Final, TypeVar

from domain.config import compile as _  # noqa: F401  # the process has it before its first configuration comes
from domain.config.reading.parsed_files import LASTING_BYTES, MAX_BYTES, ParsedFiles
from domain.config.sources import Answer, Request, Wanted

T = TypeVar("T")

PROCESSES: Final = 2
"""One caller has one of them at most (`application.configurations.compiling`)."""
_LOOK: Final = 0.5
"""Seconds of computing after which is looked again whether to go on; what was raised then may not have come out."""
_LOOKS: Final = 10
"""At least so often it is looked within what work may compute."""
_MARKS: Final = 64
"""More than there are rounds at once."""


_PARSED: Final = ParsedFiles()
"""Of this process. Each of them parses a file once: which one has the next round is chance."""


class OutOfTime(Exception):
    """Work has computed for longer than it may."""


class GivenUp(Exception):
    """Nobody waits for the work any more."""


class Marks:
    """Which work is given up: a byte for each, in memory that the processes share with the one that made them."""

    def __init__(self) -> None:
        """None is given up."""
        self._given_up = RawArray(c_bool, _MARKS)
        self._free = list(range(_MARKS))

    def take(self) -> int:
        """A mark that no other work has."""
        mark = self._free.pop()
        self._given_up[mark] = False
        return mark

    def put_back(self, mark: int) -> None:
        """Its work is over."""
        self._free.append(mark)

    def give_up(self, mark: int) -> None:
        """End its work, soon."""
        self._given_up[mark] = True

    def check(self, mark: int) -> None:
        """Raise `GivenUp` if nobody waits for the work any more."""
        if self._given_up[mark]:
            raise GivenUp


MARKS = Marks()
"""Of all work that this process gives to others; in those they are their parent's."""


def within(seconds: float, mark: int, work: Callable[[], T]) -> tuple[T, float]:
    """Do some work in the process of the pool, and tell how many seconds it has computed.

    Raises `OutOfTime`, and `GivenUp` when nobody waits for it any more. Counted is the time of the processor, so that a
    busy machine makes no difference. In a thread beside others, where nothing can be interrupted, it is only told.
    """
    begun = time.thread_time()
    MARKS.check(mark)
    with _interrupted(seconds, mark):
        result = work()
    return result, time.thread_time() - begun


def one_round(work: Callable[..., T | Wanted], known: Mapping[Request, Answer]) -> T | Wanted:
    """Compile in the process of the pool with what is known; files of earlier rounds are not parsed again."""
    kept = LASTING_BYTES
    try:
        result = work(known=known, parsed=_PARSED)
        if isinstance(result, Wanted):
            kept = MAX_BYTES
        return result
    finally:
        _PARSED.keep(kept)


@contextmanager
def _interrupted(seconds: float, mark: int) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    until = time.thread_time() + seconds

    def look(_number: int, _frame: FrameType | None) -> None:
        MARKS.check(mark)
        if time.thread_time() >= until:
            raise OutOfTime

    before = signal.signal(signal.SIGPROF, look)
    every = min(_LOOK, max(seconds / _LOOKS, 0.01))
    signal.setitimer(signal.ITIMER_PROF, every, every)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


class _BareProcess(SpawnProcess):
    """A spawned process imports the main module of its parent, which here is a whole server; this one does not."""

    def start(self) -> None:
        main = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            super().start()
        finally:
            sys.modules["__main__"] = main


class _BareContext(SpawnContext):
    Process = _BareProcess


class _Compilers(Executor):
    """Processes that compile; those that died are made anew with the next work, and the work that they had is lost."""

    def __init__(self) -> None:
        self._pool = self._new()
        self._lock = threading.Lock()

    @staticmethod
    def _new() -> ProcessPoolExecutor:
        return ProcessPoolExecutor(PROCESSES, _BareContext(), initializer=_prepare, initargs=(MARKS,))

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        with self._lock:
            try:
                return self._pool.submit(fn, *args, **kwargs)
            except BrokenProcessPool:
                self._pool = self._new()
                return self._pool.submit(fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # its base
        self._pool.shutdown(wait, cancel_futures=cancel_futures)


def compiler_pool() -> Executor:
    """Processes that compile, so that a large configuration stalls neither polls nor workflow tasks.

    The second one is made when there is work for it.
    """
    return _Compilers()


def _prepare(marks: Marks) -> None:
    """Take the parent's marks, and end with it: a killed server must leave no process behind."""
    global MARKS  # shared memory is handed over only as a process starts
    MARKS = marks
    parent = multiprocessing.parent_process()
    assert parent is not None

    def follow() -> None:
        parent.join()
        os._exit(0)

    threading.Thread(target=follow, daemon=True).start()
    gc.freeze()
