"""The contacts of runners, collected: many polls cost one write."""

import asyncio
import time
from typing import Final

import structlog

from models.repositories import contacts, database_time
from models.repositories.contacts import Contact
from models.session import Database

EVERY: Final = 30.0
"""Seconds: the contact of a process of a runner is written at most so often."""
_COLLECT: Final = 3.0
"""Seconds from the first contact that is collected to the write."""
_MOST: Final = 20_000

log = structlog.get_logger()


class Contacts:
    """Who called lately. What a killed process had collected is lost, and comes again with the next polls."""

    def __init__(self, database: Database) -> None:
        """Begin with nobody."""
        self._database = database
        self._noted: dict[tuple[int, str], float] = {}
        self._collected: dict[tuple[int, str], Contact] = {}
        self._writing: asyncio.Task[None] | None = None

    def is_due(self, runner_id: int, system_id: str) -> bool:
        """Whether a contact of this process is worth writing again."""
        return time.monotonic() - self._noted.get((runner_id, system_id), -EVERY) >= EVERY

    def note(self, contact: Contact) -> None:
        """Write this soon."""
        if len(self._noted) > _MOST:
            self._noted.clear()
        key = contact.runner_id, contact.system_id
        self._noted[key] = time.monotonic()
        self._collected[key] = contact
        if self._writing is None:
            self._writing = asyncio.create_task(self._write_later())

    async def _write_later(self) -> None:
        await asyncio.sleep(_COLLECT)
        self._writing = None
        try:
            await self.flush()
        except Exception:
            log.exception("contacts of runners were not written; they come again with their next polls")

    async def flush(self) -> None:
        """Write what is collected."""
        collected, self._collected = self._collected, {}
        if collected:
            async with self._database.write() as connection:
                await contacts.write(connection, collected.values(), await database_time.moment(connection))

    async def close(self) -> None:
        """Write what is collected, for the last time."""
        if self._writing is not None:
            self._writing.cancel()
        await self.flush()
