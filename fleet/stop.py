"""Why a job is stopped, and waiting for work that may be stopped."""

import asyncio
from collections.abc import Coroutine
from enum import Enum, auto
from typing import Any, TypeVar

T = TypeVar("T")


class Cause(Enum):
    """What ended a piece of work before its own end."""

    CANCELED = auto()
    """A user asked for it; `after_script` and uploads still run."""
    TIMEOUT = auto()
    INTERRUPTED = auto()
    """The runner itself is told to end."""
    ABORTED = auto()
    """The server does not know the job as ours any more."""


GRACEFUL = frozenset({Cause.CANCELED, Cause.TIMEOUT})
"""After these the job still has its `after_script` and its uploads."""


class Stop:
    """The order to stop one job; a graver cause replaces a milder one, never the other way."""

    def __init__(self) -> None:
        """No order yet."""
        self.cause: Cause | None = None
        self._script = asyncio.Event()
        self._all = asyncio.Event()

    def order(self, cause: Cause) -> None:
        """Stop the script; anything but a graceful cause stops what follows as well."""
        if self.cause is None or (self.cause in GRACEFUL and cause not in GRACEFUL):
            self.cause = cause
        self._script.set()
        if cause not in GRACEFUL:
            self._all.set()

    async def guard(self, work: Coroutine[Any, Any, T], limit: float | None, *, script: bool) -> T | Cause:
        """Await `work` for at most `limit` seconds; a stop cancels it, waits for its clean-up and gives the cause.

        With `script` any order stops it, otherwise only one that is not graceful.
        """
        task = asyncio.create_task(work)
        ordered = asyncio.create_task((self._script if script else self._all).wait())
        try:
            done, _ = await asyncio.wait({task, ordered}, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
            if task in done:
                return task.result()
            return (self.cause if ordered in done else None) or Cause.TIMEOUT
        finally:
            for pending in (task, ordered):
                pending.cancel()
            await asyncio.wait({task, ordered})
