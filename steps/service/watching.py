"""Looks at one run for all who follow it: how long its files are, how far it is, and whether its process lives."""

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

import structlog

from domain.errors import NotFound, PerdureError
from domain.steps.runs import ENDED, RunState, RunStatus
from steps.engine.log_files import ORDER, STDERR, STDOUT
from steps.engine.run_folder import RESULTS, STATE, Damaged, RunFolder

SOON: Final = 0.005
"""Seconds until the next look, just after something has changed; the pause grows while nothing does."""
SELDOM: Final = 0.1
_GROWS: Final = 1.5
_LIVES: Final = 0.5
"""Seconds between two looks whether the process lives: that takes a lock."""
_BEGINS: Final = 10.0
"""Seconds after which a process that has not begun will not."""
REMOVED: Final = "the folder of the run was removed, with what was written there"
FILES: Final = (STDOUT, STDERR, RESULTS, ORDER)

log = structlog.get_logger()


@dataclass(eq=False)
class Watched:
    """A run that is looked at until it has ended."""

    folder: RunFolder
    on_loss: Callable[[RunFolder], Awaitable[None]]
    sizes: dict[str, int] = field(default_factory=lambda: dict.fromkeys(FILES, 0))
    state: RunState = field(default_factory=lambda: RunState(RunStatus.PENDING))
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _task: asyncio.Task[None] | None = None
    _stamp: tuple[int, int] = (0, 0)

    def begin(self) -> None:
        """Look from now on."""
        self._look()
        if self.state.status not in ENDED:
            self._task = asyncio.create_task(self._watch())

    async def stop(self) -> None:
        """Look no more, and wake whoever waits."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self._wake()

    async def until(self, is_true: Callable[[], bool]) -> None:
        """Wait until something is true of what was seen; it is asked again with each change."""
        while not is_true():
            await self.change()

    async def change(self) -> None:
        """Wait for the next change, or the end of looking."""
        await self._changed.wait()

    @property
    def has_ended(self) -> bool:
        """Whether nothing will change any more."""
        return self.state.status in ENDED

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the process, if it lives and has begun; nobody else gets it, whatever became of its id."""
        self._look()
        if self.state.status is not RunStatus.RUNNING:
            return
        with contextlib.suppress(ProcessLookupError):
            fd = os.pidfd_open(self.state.pid)
            try:
                if self.folder.is_held:  # so the process with this id is the one of the run still
                    signal.pidfd_send_signal(fd, number)
            finally:
                os.close(fd)

    async def _watch(self) -> None:
        pause, next_lock = SOON, time.monotonic() + _LIVES
        to_begin = time.monotonic() + _BEGINS
        while not self.has_ended:
            await asyncio.sleep(pause)
            pause = SOON if self._look() else min(SELDOM, pause * _GROWS)
            now = time.monotonic()
            if now < next_lock or self.has_ended:
                continue
            next_lock = now + _LIVES
            may_be_lost = self.state.status is RunStatus.RUNNING or now > to_begin
            if may_be_lost and not self._is_held():
                await self._report_loss()

    async def _report_loss(self) -> None:
        try:
            await self.on_loss(self.folder)
        except (OSError, PerdureError) as error:
            log.warning("a run that was lost is looked at again", run=self.folder.path.name, error=str(error))
        if not self.folder.path.exists():
            self.state = RunState(RunStatus.LOST, self.state.began_at, time.time(), REMOVED, self.state.pid)
            self._wake()

    def _is_held(self) -> bool:
        try:
            return self.folder.is_held
        except OSError:
            return False  # its own steps have removed it, or no descriptor is left: whoever is told looks again

    def _look(self) -> bool:
        """See what has changed; whether anything has. The state is read first: what follows its end is all there is."""
        state = self.state
        with contextlib.suppress(OSError, NotFound, Damaged):
            found = (self.folder.path / STATE).stat()
            stamp = found.st_ino, found.st_mtime_ns
            if stamp != self._stamp:
                state, self._stamp = self.folder.state(), stamp
        sizes = {name: self._size(name) for name in FILES}
        if (state, sizes) == (self.state, self.sizes):
            return False
        self.state, self.sizes = state, sizes
        self._wake()
        return True

    def _size(self, name: str) -> int:
        try:
            return (self.folder.path / name).stat().st_size
        except OSError:
            return 0

    def _wake(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
