"""Lists of archives that were read lately, kept for the next file of the same one.

A report of three hundred files would have the list of its archive read three hundred times. Objects of the store are
never written anew under their key, so that a list stays true as long as it is kept.
"""

import asyncio
from collections import OrderedDict
from typing import Final

from storage.archive import Archive
from storage.objects import ObjectStore

ROOM: Final = 32 * 1024 * 1024
"""Bytes that all lists which are kept take, about; one list is at most a quarter of it (`zip_directory`)."""
_OF_ENTRY: Final = 300
"""Bytes that an entry takes beside its name, about."""


class OpenedArchives:
    """Archives by their key, those that were wanted last."""

    def __init__(self, room: int = ROOM) -> None:
        """Nothing is kept yet."""
        self._room = room
        self._kept: OrderedDict[str, tuple[Archive, int]] = OrderedDict()
        self._opening: dict[str, asyncio.Task[Archive]] = {}
        self._used = 0

    async def open(self, store: ObjectStore, key: str) -> Archive:
        """The archive; whoever wants one that is being opened waits for it. Raises what `Archive.open` does."""
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key][0]
        opening = self._opening.get(key)
        if opening is None:
            opening = self._opening[key] = asyncio.create_task(Archive.open(store, key))
            opening.add_done_callback(lambda task: self._opened(key, task))
        return await asyncio.shield(opening)  # who goes away leaves the others waiting

    def _opened(self, key: str, opening: "asyncio.Task[Archive]") -> None:
        self._opening.pop(key, None)
        if opening.cancelled() or opening.exception() is not None:
            return
        archive = opening.result()
        size = sum(_OF_ENTRY + len(entry.name) for entry in archive.entries)
        self._kept[key] = archive, size
        self._used += size
        while self._used > self._room:
            _, (_, freed) = self._kept.popitem(last=False)
            self._used -= freed
