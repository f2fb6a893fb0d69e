"""Forgets claims that were released long ago: else the directory would grow with each name that is given back.

A reader that has an earlier version than one of them is told everything, since nothing else tells it of that release.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from sqlalchemy import Connection

from domain.errors import Unavailable
from domain.pods.claims import forgotten_until
from pods.directory import claim_rows, tables
from pods.directory.store import Store

EVERY: Final = 3600.0
"""Seconds between two rounds."""
MAX_BATCH: Final = 500
"""Claims that one transaction removes: calls wait for it."""

log = logging.getLogger("perdure.directory")


async def prune(store: Store, max_batch: int = MAX_BATCH) -> int:
    """Remove what is to be forgotten by now; how many claims that were. Raises `Unavailable`."""
    until, count = forgotten_until(store.unix_time()), 0

    def work(connection: Connection, _: int) -> tuple[int, bool]:
        removed, version = claim_rows.prune_released(connection, until, max_batch)
        tables.keep_pruned_version(connection, version)
        return removed, False

    while True:
        removed = await store.write(work)
        count += removed
        if removed < max_batch:
            return count


@asynccontextmanager
async def pruning(store: Store, every: float = EVERY) -> AsyncIterator[None]:
    """Prune at once and each `every` seconds while the context is open; a fault ends a round only."""
    task = asyncio.create_task(_prune_for_ever(store, every))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _prune_for_ever(store: Store, every: float) -> None:
    while True:
        try:
            if removed := await prune(store):
                log.info("%d claims that were released long ago are forgotten", removed)
        except Unavailable:
            pass  # the store has said so
        except Exception:
            log.exception("released claims could not be pruned; the next round tries again")
        await asyncio.sleep(every)
