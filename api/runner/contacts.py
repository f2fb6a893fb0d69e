"""The contacts of runners, collected: many polls cost one write."""

import asyncio
import math
import time
from typing import Final

import structlog

from models.repositories import database_time
from models.repositories.queue import contacts
from models.repositories.queue.contacts import Contact
from models.session import Database

EVERY: Final = 30.0
"""Seconds: the contact of a process of a runner is written at most so often."""
_COLLECT: Final = 3.0
"""Seconds from the first contact that is collected to the write."""
_SILENT: Final = 4 * EVERY
"""Seconds after which a contact is news: those who wait for the runner, or believe it lost, hear of it at once."""
_MAX_KNOWN: Final = 20_000

log = structlog.get_logger()


class Contacts:
    """Who called lately. What a killed process had collected is lost, and comes again with the next polls."""

    def __init__(self, database: Database) -> None:
        """Begin with nobody."""
        self._database = database
        self._noted: dict[tuple[int, str], float] = {}
        self._collected: dict[tuple[int, str], Contact] = {}
        self._writing: asyncio.Task[None] | None = None
        self._turn = asyncio.Lock()

    def is_due(self, runner_id: int, system_id: str) -> bool:
        """Whether a contact of this process is worth writing again."""
        return self._silence(runner_id, system_id) >= EVERY

    def _silence(self, runner_id: int, system_id: str) -> float:
        """Seconds since a contact of this process was noted here."""
        return time.monotonic() - self._noted.get((runner_id, system_id), -math.inf)

    async def note(self, contact: Contact) -> None:
        """Write this: at once if it is the first one, here or after a long silence, else soon."""
        if len(self._noted) > _MAX_KNOWN:
            self._noted.clear()
        key = contact.runner_id, contact.system_id
        is_news = self._silence(*key) >= _SILENT
        self._noted[key] = time.monotonic()
        self._collected[key] = contact
        if is_news:
            await self._write()
        elif self._writing is None:
            self._writing = asyncio.create_task(self._write_later())

    async def _write_later(self) -> None:
        await asyncio.sleep(_COLLECT)
        self._writing = None
        await self._write()

    async def _write(self) -> None:
        try:
            await self.flush()
        except Exception:
            log.exception("contacts of runners were not written; they come again with their next polls")

    async def flush(self) -> None:
        """Write what is collected; what comes meanwhile is the next write, whoever asks for it."""
        async with self._turn:
            collected, self._collected = self._collected, {}
            if not collected:
                return
            try:
                async with self._database.write() as connection:
                    await contacts.write(connection, collected.values(), await database_time.moment(connection))
            except BaseException:
                for key in collected:
                    self._noted.pop(key, None)
                raise

    async def close(self) -> None:
        """Write what is collected, for the last time."""
        if self._writing is not None:
            self._writing.cancel()
        await self.flush()
