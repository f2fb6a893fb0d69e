"""The loop that finds out whom to tell: it writes the messages of each notice, and forgets what is old.

What happened is in SQL, written with what happened. One that cannot be read now is looked at again later, and others
do not wait for it; one that nobody could read for as long as messages are tried is given up, and says so.
"""

from datetime import datetime, timedelta
from typing import Final

import structlog

from application.notifications.spreading import spread
from application.services import Services
from domain.errors import NotFound, Unavailable
from loops.rounds import every
from models.notifications import HOOKS
from models.repositories.notifications import mailing, notices
from models.rows.notifications import NoticeRow

BATCH: Final = 100
EVERY: Final = 1.0
"""Seconds between two looks."""
CLEAN_EVERY: Final = timedelta(minutes=10)

log = structlog.get_logger()


class Spreading:
    """Writes messages until it is cancelled."""

    def __init__(self, services: Services) -> None:
        """Take what the composition root made."""
        self._services = services
        self._cleaned: datetime | None = None
        self._is_noted = False

    async def run(self) -> None:
        """Look for ever."""
        fault = "the loop that finds out whom to tell stumbled; it goes on"
        await every(EVERY, self.look, fault, begins_at_once=True)

    async def look(self) -> None:
        """One round."""
        try:
            await self._note_mailing()
            while await self.spread_due() >= BATCH:
                pass
            await self._clean()
        except Unavailable as error:
            log.warning("people are told later", error=str(error))

    async def _note_mailing(self) -> None:
        """Once: whether we send e-mails. Projects are watched because of it, or not any more."""
        if self._is_noted:
            return
        given = self._services.settings.smtp.is_given
        async with self._services.database.write() as connection:
            self._is_noted = await mailing.note(connection, are_sent=given)

    async def spread_due(self) -> int:
        """Write the messages of what is due; how many notices that was."""
        services = self._services
        async with services.database.read() as connection:
            found = await notices.due(connection, services.clock(), BATCH)
        written = 0
        for notice in found:
            written += await self._spread(notice)
        if written:
            await services.notifications.notify(HOOKS)
        return len(found)

    async def _spread(self, notice: NoticeRow) -> int:
        try:
            return await spread(self._services, notice)
        except NotFound as error:
            await self._back_off(notice, str(error), is_gone=True)
        except Unavailable:
            raise
        except Exception as error:
            log.exception("a notice cannot be read now", notice=notice.id)
            await self._back_off(notice, f"{type(error).__name__}: {error}")
        return 0

    async def _back_off(self, notice: NoticeRow, error: str, *, is_gone: bool = False) -> None:
        services = self._services
        now = services.clock()
        again = now + notices.pause_after(notice.attempts)
        last = notice.created_at + timedelta(seconds=services.settings.times.hook_patience)
        async with services.database.write() as connection:
            await notices.back_off(connection, notice, error, None if is_gone or again > last else again)

    async def _clean(self) -> None:
        """Now and then forget what is old."""
        now = self._services.clock()
        if self._cleaned is not None and now - self._cleaned < CLEAN_EVERY:
            return
        self._cleaned = now
        kept = timedelta(seconds=self._services.settings.times.hook_log)
        async with self._services.database.write() as connection:
            await notices.forget(connection, now - kept)
