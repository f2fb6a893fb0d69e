"""The loop that pulls mirrors when it is their turn: one process at a time for each, by a lease that it renews."""

import asyncio
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from typing import Final

import structlog

from application.mirrors.pull import pull
from application.services import Services
from domain.errors import PerdureError, Unavailable
from models.repositories.projects import mirrors
from models.rows.mirrors import MirrorRow
from outbound.addresses import Permission, public_or_within

RESCAN: Final = 2.0
"""Seconds between two looks."""
HELD: Final = timedelta(seconds=60)
"""After so long without a word the process that pulls a mirror counts as dead."""
RENEWED: Final = 20.0
"""Seconds after which it says a word."""
MAX_CONCURRENT: Final = 4
"""Pulls of one process side by side."""

log = structlog.get_logger()


class _Lease:
    """What a process holds of a mirror: until when."""

    def __init__(self, until: datetime) -> None:
        self.until = until


class MirrorLoop:
    """Pulls mirrors until it is cancelled."""

    def __init__(self, services: Services, permitted: Permission | None = None) -> None:
        """`permitted` says which addresses may be fetched from; without it those of the settings."""
        self._services = services
        self._database = services.database
        self._permitted = permitted or public_or_within(services.settings.outbound_networks)
        self._under_way: dict[int, asyncio.Task[None]] = {}

    async def run(self) -> None:
        """Pull for ever."""
        try:
            while True:
                try:
                    await self.start_due()
                except Exception:
                    log.exception("the loop of mirrors stumbled; it goes on")
                await asyncio.sleep(RESCAN)
        finally:
            await self.stop()

    async def stop(self) -> None:
        """End what is under way; another process, or the next start, begins it anew."""
        tasks = list(self._under_way.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def pull_due(self) -> int:
        """Pull what is due, and wait for it; how many there were."""
        started = await self.start_due()
        await asyncio.gather(*list(self._under_way.values()))
        return started

    async def start_due(self) -> int:
        """Start the pulls that are due, as many as there is room for."""
        now = self._services.clock()
        room = MAX_CONCURRENT - len(self._under_way)
        async with self._database.read() as connection:
            lost = await mirrors.lost(connection, now)
            rows = await mirrors.due(connection, now, room) if room else ()
        if lost:
            async with self._database.write() as connection:
                await mirrors.recover(connection, now)
                rows = await mirrors.due(connection, now, room) if room else ()
        started = 0
        for row in rows:
            until = now + HELD
            async with self._database.write() as connection:
                held = await mirrors.hold(connection, row.id, now, until)
            if held is not None:
                task = asyncio.create_task(self._pull(held, _Lease(until)))
                self._under_way[row.id] = task
                task.add_done_callback(partial(self._ended, row.id))
                started += 1
        return started

    def _ended(self, mirror_id: int, _task: "asyncio.Task[None]") -> None:
        self._under_way.pop(mirror_id, None)

    async def _pull(self, row: MirrorRow, lease: _Lease) -> None:
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
