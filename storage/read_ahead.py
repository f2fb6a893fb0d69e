"""Many objects in an order, for whoever reads all that there are: the next ones are read while one is used.

One object after the other costs three turns of the event loop each, which is most of a backup's time where objects are
small, as logs are. Here a thread reads many files at a time, and a store behind HTTP is asked for several at once.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

import obstore

from domain.errors import NotFound
from storage.objects import ObjectStore, checked_key
from storage.store_errors import reading

WHOLE: Final = 64 * 1024
"""An object of so many bytes comes whole; a larger one is left to be read as a stream."""
MAX_BATCH: Final = 256
"""So many are read at a time: with those in use at most 32 MiB."""
_MAX_CONCURRENT: Final = 32
"""Calls of a store behind HTTP that are on their way."""


@dataclass(frozen=True, slots=True)
class Ahead:
    """An object: its bytes, or None where there are more than `WHOLE`; `size` is None where there is no such object."""

    key: str
    size: int | None
    content: bytes | None = None


async def read_ahead(store: ObjectStore, keys: AsyncIterator[str]) -> AsyncIterator[Ahead]:
    """Every object in the order of the keys, each as it was at one moment. Raises `Unavailable`."""
    running: asyncio.Task[Sequence[Ahead]] | None = None
    try:
        async for batch in _batches(keys):
            found = [] if running is None else await running
            running = asyncio.create_task(_read(store, batch))
            for one in found:
                yield one
        for one in [] if running is None else await running:
            yield one
    finally:
        if running is not None:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


async def _batches(keys: AsyncIterator[str]) -> AsyncIterator[list[str]]:
    batch: list[str] = []
    async for key in keys:
        batch.append(checked_key(key))
        if len(batch) == MAX_BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


async def _read(store: ObjectStore, keys: Sequence[str]) -> Sequence[Ahead]:
    if store.root is not None:
        return await asyncio.to_thread(_read_files, store.root, keys)
    left = iter(keys)
    found: list[Ahead] = []
    while some := list(islice(left, _MAX_CONCURRENT)):
        found += await asyncio.gather(*(_get(store, key) for key in some))
    return found


def _read_files(root: Path, keys: Sequence[str]) -> list[Ahead]:
    return [_read_file(f"{root}/{key}", key) for key in keys]


def _read_file(path: str, key: str) -> Ahead:
    """What is in a file, which nobody changes: another content is another file of the same name."""
    try:
        with reading(key):
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                size = os.fstat(descriptor).st_size
                if size > WHOLE:
                    return Ahead(key, size)
                content = os.read(descriptor, WHOLE)
                return Ahead(key, size, content if len(content) == size else None)
            finally:
                os.close(descriptor)
    except NotFound:
        return Ahead(key, None)


async def _get(store: ObjectStore, key: str) -> Ahead:
    try:
        with reading(key):
            result = await obstore.get_async(store.store, key)
            size = int(result.meta["size"])
            if size > WHOLE:
                return Ahead(key, size)
            return Ahead(key, size, bytes(await result.bytes_async()))
    except NotFound:
        return Ahead(key, None)
