"""A file that appears under its name only when it is whole and on disk."""

import asyncio
import errno
import os
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Final, Self, TypeVar

from domain.errors import PerdureError, StorageFull, Unavailable
from files import durable

STAGING: Final = ".incoming"
"""Folder of unfinished files below the root; no key can start with a dot."""
ABANDONED_AFTER: Final = 24 * 3600.0
"""Seconds after which nobody can still be writing an unfinished file."""
NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""Errors of a file system that has no room: disk, quota, limit of the process."""

_T = TypeVar("_T")


class DurableFile:
    """Use as `async with DurableFile(root, key) as file: await file.write(...)`.

    Leaving the block normally syncs the file, renames it to `root/key` and syncs the folders: then it survives a power
    cut. (obstore's own local store renames without a sync.) Leaving it with an error leaves nothing.
    Raises StorageFull without room on the disk, Unavailable for other errors of the file system.
    """

    def __init__(self, root: Path, key: str) -> None:
        """Name the place; nothing is touched before the block is entered."""
        self._root = root
        self._target = root / key
        self._draft = root / STAGING / uuid.uuid4().hex
        self._file: BinaryIO | None = None
        self._running: asyncio.Future[object] | None = None

    async def __aenter__(self) -> Self:
        """Open the draft."""
        try:
            await self._in_thread(self._open)
        except BaseException:
            await self._abandon()
            raise
        return self

    async def write(self, chunk: bytes) -> None:
        """Append to the draft."""
        file = self._file
        assert file is not None
        await self._in_thread(lambda: _write_all(file, chunk))

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the file its name, or remove the draft."""
        try:
            if error is None:
                await self._in_thread(self._finish)
        finally:
            await self._abandon()

    async def _in_thread(self, work: Callable[[], _T]) -> _T:
        """Run blocking work; a cancelled caller leaves it running, and `_abandon` waits for it."""
        running = asyncio.get_running_loop().run_in_executor(None, work)
        self._running = running  # type: ignore[assignment]  # only waited for
        with translated_errors(self._target):
            return await asyncio.shield(running)

    async def _abandon(self) -> None:
        if self._running is not None and not self._running.done():
            await asyncio.wait([self._running])
        if self._file is not None:
            # What a full disk could not take is dropped with the draft.
            with suppress(OSError):
                self._file.close()
        self._draft.unlink(missing_ok=True)

    def _open(self) -> None:
        self._draft.parent.mkdir(parents=True, exist_ok=True)
        self._file = self._draft.open("xb", buffering=0)

    def _finish(self) -> None:
        assert self._file is not None
        os.fsync(self._file.fileno())
        self._file.close()
        self._target.parent.mkdir(parents=True, exist_ok=True)
        self._draft.replace(self._target)
        for folder in self._target.parents:
            durable.sync_folder(folder)
            if folder == self._root:
                break


def remove_abandoned(root: Path, older_than: float = ABANDONED_AFTER) -> int:
    """Remove unfinished files that killed processes left in `root`; how many. `older_than` is in seconds."""
    limit = time.time() - older_than
    removed = 0
    for draft in (root / STAGING).glob("*"):
        # Another process may be doing the same.
        with suppress(FileNotFoundError):
            if draft.stat().st_mtime < limit:
                draft.unlink()
                removed += 1
    return removed


@contextmanager
def translated_errors(path: Path) -> Iterator[None]:
    """Turn errors of the file system into StorageFull or Unavailable."""
    try:
        yield
    except OSError as error:
        raise _translated(error, path) from error


def _translated(error: OSError, path: Path) -> PerdureError:
    if error.errno in NO_ROOM:
        return StorageFull(f"No room to store {path}: {error.strerror}. Free space on that disk or raise its quota.")
    return Unavailable(f"Storing {path} failed: {error}")


def _write_all(file: BinaryIO, chunk: bytes) -> None:
    """An unbuffered file takes only a part of a chunk when the disk fills up; the next write then fails."""
    rest = memoryview(chunk)
    while rest:
        rest = rest[file.write(rest) :]
