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
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.context import SpawnContext, SpawnProcess
from types import FrameType, ModuleType
from typing import Any, Final, TypeVar

from domain.config import compile as _  # noqa: F401  # the process has it before its first configuration comes

T = TypeVar("T")

PROCESSES: Final = 2
"""One caller has one of them at most (`api.compiling`)."""
_AGAIN: Final = 0.5
"""Seconds after which work is interrupted once more: the first time may have met code that lets nothing out."""


class OutOfTime(Exception):
    """Work has computed for longer than it may."""


def within(seconds: float, work: Callable[[], T]) -> tuple[T, float]:
    """Do some work in the process of the pool, and tell how many seconds it has computed. Raises `OutOfTime`.

    Counted is the time of the processor, so that a busy machine makes no difference. In a thread beside others, where
    nothing can be interrupted, it is only told.
    """
    begun = time.thread_time()
    with _interrupted_after(seconds):
        result = work()
    return result, time.thread_time() - begun


@contextmanager
def _interrupted_after(seconds: float) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGPROF, _interrupt)
    signal.setitimer(signal.ITIMER_PROF, max(seconds, _AGAIN), _AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise OutOfTime


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
        return ProcessPoolExecutor(PROCESSES, _BareContext(), initializer=_prepare)

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


def _prepare() -> None:
    """End with the parent: a killed server must leave no process behind."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def follow() -> None:
        parent.join()
        os._exit(0)

    threading.Thread(target=follow, daemon=True).start()
    gc.freeze()
