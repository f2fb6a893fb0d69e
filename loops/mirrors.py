"""The loop that pulls mirrors when it is their turn: one process at a time for each, by a lease that it renews."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from typing import Final

import structlog

from application.mirrors.pull import pull
from application.services import Services
from domain.errors import PerdureError, Unavailable
from loops.due_rows import HELD, DueRowsLoop
from models.repositories.projects import mirrors
from models.rows.mirrors import MirrorRow
from outbound.addresses import Permission, public_or_within

RENEWED: Final = 20.0
"""Seconds after which it says a word."""
MAX_CONCURRENT: Final = 4
"""Pulls of one process side by side."""

log = structlog.get_logger()


class _Lease:
    """What a process holds of a mirror: until when."""

    def __init__(self, until: datetime) -> None:
        self.until = until


class MirrorLoop(DueRowsLoop[MirrorRow]):
    """Pulls mirrors until it is cancelled."""

    def __init__(self, services: Services, permitted: Permission | None = None) -> None:
        """`permitted` says which addresses may be fetched from; without it those of the settings."""
        super().__init__(services, "mirrors", MAX_CONCURRENT)
        self._permitted = permitted or public_or_within(services.settings.outbound_networks)

    async def take(self, room: int) -> Sequence[MirrorRow]:
        """Mirrors whose turn it is, those among them whose process has died."""
        now = self._services.clock()
        async with self._database.read() as connection:
            lost = await mirrors.lost(connection, now)
            rows = await mirrors.due(connection, now, room)
        if lost:
            async with self._database.write() as connection:
                await mirrors.recover(connection, now)
                rows = await mirrors.due(connection, now, room)
        held = []
        for row in rows:
            async with self._database.write() as connection:
                held.append(await mirrors.hold(connection, row.id, now, now + HELD))
        return [row for row in held if row is not None]

    async def carry_out(self, row: MirrorRow) -> None:
        """Pull a mirror that this process holds, and say a word every now and then."""
        lease = _Lease(row.held_until or self._services.clock())
        renewing = asyncio.create_task(self._renew(row.id, lease))
        error = ""
        try:
            await pull(self._services, row, self._permitted)
        except PerdureError as found:
            error = str(found)
        except Exception as found:
            log.exception("a mirror could not be pulled", mirror=row.id, project=row.project_id)
            error = f"The server met a fault of its own ({type(found).__name__}); see its log."
        finally:
            renewing.cancel()
            await asyncio.gather(renewing, return_exceptions=True)
        with suppress(Unavailable):  # else the lease ends by itself, and the pull is done again
            async with self._database.write() as connection:
                await mirrors.finish(connection, row, lease.until, self._services.clock(), error)

    async def _renew(self, mirror_id: int, lease: _Lease) -> None:
        while True:
            await asyncio.sleep(RENEWED)
            until = self._services.clock() + HELD
            with suppress(Unavailable):
                async with self._database.write() as connection:
                    if await mirrors.keep(connection, mirror_id, lease.until, until):
                        lease.until = until
