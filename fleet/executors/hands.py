"""With whose rights the runner handles the files of a job.

A job can put symbolic links and whatever else it likes where the runner is going to read and write. So a runner that
may do more than its jobs never touches their files itself: a process that has the rights of the job's user, and no
more, does.
"""

import asyncio
import codecs
import multiprocessing
import os
import stat
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path
from types import ModuleType
from typing import BinaryIO, Final, ParamSpec, TypeVar

from domain.errors import Invalid, Unavailable
from fleet.executors.rights import JobRights
from fleet.executors.survivors import end_survivors

P = ParamSpec("P")
T = TypeVar("T")

_LOADED: Final = (
    "fleet.archives",
    "fleet.glob_patterns",
    "fleet.globs",
    "fleet.executors.files",
    "fleet.executors.survivors",
)
"""Imported before the rights are given up: the job's user may not be able to read our modules."""
_ENCODINGS: Final = ("cp437",)
"""Loaded before, too: that of names in archives."""
_MAX_ATTEMPTS: Final = 2
"""Processes for one piece of work: the job's user may end those that it has, with `kill -1` for instance."""


class _BareProcess(ForkServerProcess):
    """A new process imports the main module of its parent, which here is a whole runner; this one does not."""

    def start(self) -> None:
        main = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            super().start()
        finally:
            sys.modules["__main__"] = main


class _BareContext(ForkServerContext):
    Process = _BareProcess


class Hands:
    """Handles files with the rights of jobs; without any, with those of this process."""

    def __init__(self, rights: JobRights | None = None) -> None:
        """Nothing is started before there is work."""
        self._rights = rights
        self._pool: ProcessPoolExecutor | None = None

    async def do(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function of a module. Raises what it raises, and Unavailable where it was ended again and again."""
        if self._rights is None:
            return await asyncio.to_thread(work, *args, **kwargs)
        loop = asyncio.get_running_loop()
        for _ in range(_MAX_ATTEMPTS):
            try:
                return await loop.run_in_executor(self._process(self._rights), partial(work, *args, **kwargs))
            except BrokenProcessPool:
                self.close()
        raise Unavailable(
            f"What handles the job's files as {self._rights.name} was ended; does the job kill processes?"
        )

    async def end_processes(self, mark: str, group: int = 0, group_start: str = "", *, grace: float) -> int:
        """End a job's processes (`survivors.find_survivors`), those that we see and those that it sees; how many.

        Not everywhere does root see the environment of all processes.
        """
        ended = await asyncio.to_thread(end_survivors, mark, group, group_start, grace=grace)
        if self._rights is not None:
            ended += await self.do(end_survivors, mark, group, group_start, grace=grace)
        return ended

    def open(self, path: Path, flags: int) -> BinaryIO:
        """Open a file that such hands have made. Raises Invalid where something else has taken its place."""
        fd = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        found = os.fstat(fd)
        is_theirs = self._rights is None or found.st_uid == self._rights.uid
        if not stat.S_ISREG(found.st_mode) or not is_theirs:
            os.close(fd)
            raise Invalid(f"{path} is not the file that was made there; the job has put something else in its place")
        return os.fdopen(fd, "rb" if flags == os.O_RDONLY else "wb")

    def close(self) -> None:
        """End the process that has the rights, as soon as its work is done."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None

    def _process(self, rights: JobRights) -> ProcessPoolExecutor:
        if self._pool is None:
            context = _BareContext()
            context.set_forkserver_preload(list(_LOADED))
            self._pool = ProcessPoolExecutor(1, context, initializer=_take, initargs=(rights,))
        return self._pool


def _take(rights: JobRights) -> None:
    """End with the parent, whatever ends it, and have no other rights from here on."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    for encoding in _ENCODINGS:
        codecs.lookup(encoding)
    rights.take()

    def follow() -> None:
        parent.join()
        os._exit(0)

    threading.Thread(target=follow, daemon=True).start()
