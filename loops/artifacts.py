"""The loop that removes artifacts whose time is over, and objects of the store that no row speaks of.

The row goes first: nobody can meet an artifact without its file. The key of the object is kept until the store has
deleted it, so a killed process leaves none behind. Any number of these loops may run.
"""

from typing import Final

import structlog

from domain.errors import PerdureError
from loops.rounds import every
from models.repositories.artifacts import artifacts, unused_objects
from models.session import Database
from storage.objects import ObjectStore

BATCH: Final = 100
"""So many artifacts are removed in one transaction, and so many objects deleted between two."""

log = structlog.get_logger()


class ArtifactLoop:
    """Removes artifacts until it is cancelled."""

    def __init__(self, database: Database, store: ObjectStore, every: float) -> None:
        """Look every `every` seconds."""
        self._database = database
        self._store = store
        self._every = every

    async def run(self) -> None:
        """Remove for ever."""
        await every(self._every, self._remove, "artifacts could not be removed; the next round tries again")

    async def _remove(self) -> None:
        await self.expire()
        await self.delete_unused()

    async def expire(self) -> int:
        """Remove every artifact whose time is over; give back how many. Their objects go with `delete_unused`."""
        total = 0
        while True:
            async with self._database.write(is_long=True) as connection:
                count = await artifacts.expire(connection, BATCH)
            total += count
            if count < BATCH:
                break
        if total:
            log.info("artifacts have expired", count=total)
        return total

    async def delete_unused(self) -> int:
        """Delete the objects that no row speaks of; give back how many. What the store refuses is tried again."""
        async with self._database.write(is_long=True) as connection:
            await unused_objects.doom_abandoned(connection)
        total = 0
        while True:
            async with self._database.read() as connection:
                keys = await unused_objects.to_delete(connection, BATCH)
            gone = [key for key in keys if await self._is_deleted(key)]
            if gone:
                async with self._database.write() as connection:
                    await unused_objects.forget(connection, gone)
            total += len(gone)
            if len(gone) < BATCH:
                return total

    async def _is_deleted(self, key: str) -> bool:
        try:
            await self._store.delete(key)
        except PerdureError as error:
            log.warning("an object that nobody needs stays in the store for now", key=key, error=str(error))
            return False
        return True
