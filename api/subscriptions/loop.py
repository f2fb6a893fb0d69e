"""The loop that makes the pipelines of subscriptions: it takes the runs that were noted, until each is done.

A run is noted in the transaction in which the upstream pipeline succeeds, and is done in the one that makes its
pipeline. A process that is killed at any moment leaves one or the other.
"""

import asyncio
from datetime import timedelta
from typing import Final

import structlog

from api.deps import access_to, caller_from
from api.prepared_pipelines import Prepared, prepared
from api.services import Services
from api.v4.pipelines import find_ref
from domain.bridges import DOWNSTREAM
from domain.errors import Forbidden, Invalid, NotFound, PerdureError, StorageFull, Unauthenticated, Unavailable
from git.repository import Repository
from models.columns import Record
from models.notifications import OUTBOX
from models.repositories import accounts, pipelines, subscriptions
from models.repositories.pipelines import PipelineRequest

RESCAN: Final = 2.0
"""Seconds between two looks: a release that others follow is never in such a hurry."""
HELD: Final = timedelta(seconds=60)
"""How long other processes leave a run alone that this one has taken."""
AT_ONCE: Final = 8

log = structlog.get_logger()


class SubscriptionLoop:
    """Makes the pipelines of subscriptions until it is cancelled."""

    def __init__(self, services: Services) -> None:
        """Take what the composition root made."""
        self._services = services
        self._database = services.database

    async def run(self) -> None:
        """Carry out runs for ever."""
        while True:
            try:
                while await self.carry_out_due():
                    """There may be more."""
            except Exception:
                log.exception("the loop of subscriptions stumbled; it goes on")
            await asyncio.sleep(RESCAN)

    async def carry_out_due(self) -> int:
        """Carry out what is due; how many runs there were."""
        now = self._services.clock()
        async with self._database.read() as connection:
            if not await subscriptions.is_due(connection, now):
                return 0
        async with self._database.write() as connection:
            rows = await subscriptions.hold_due(connection, now, now + HELD, AT_ONCE)
        await asyncio.gather(*(self.carry_out(row) for row in rows))
        return len(rows)

    async def carry_out(self, row: Record) -> None:
        """Make the pipeline of a run, or write down why there is none, or have it come again later."""
        try:
            wish, repository = await self._wish(row)
            await self._finish(row, wish, repository)
        except (Invalid, NotFound, Forbidden, Unauthenticated) as error:
            await self._refuse(row, str(error))
        except (Unavailable, StorageFull) as error:
            await self._back_off(row, str(error))
        except Exception as error:
            log.exception("the pipeline of a subscription could not be made", run=row.id)
            await self._back_off(row, repr(error))

    async def _wish(self, row: Record) -> tuple[Prepared, Repository]:
        """What a run wants: a pipeline of the default branch, if who subscribed may still run it."""
        async with self._database.read() as connection:
            user = await accounts.get(connection, row.user_id)
            upstream = await pipelines.get(connection, row.upstream_id or 0)
        if user.state != accounts.ACTIVE:
            raise Forbidden(f"{user.username}, who subscribed, is blocked.")
        await access_to(self._services, caller_from(user), upstream.project_id)
        access = await access_to(self._services, caller_from(user), row.project_id)
        repository = self._services.repositories.get(row.project_id)
        ref, tag, sha = await find_ref(repository, f"refs/heads/{access.row.default_branch}")
        access.require_run(ref, tag=tag)
        request = PipelineRequest(
            project_id=row.project_id,
            user_id=user.id,
            ref=ref,
            sha=sha,
            source=DOWNSTREAM,
            upstream_id=upstream.id,
            upstream_project_id=upstream.project_id,
            root_id=upstream.root_id or upstream.id,
        )
        return await prepared(self._services, request, repository), repository

    async def _finish(self, row: Record, wish: Prepared, repository: Repository) -> None:
        async with self._database.write() as connection:
            if not await subscriptions.finish(connection, row.id, self._services.clock()):
                return
            made = await wish.save(self._services, connection)
            await subscriptions.tell(connection, row.id, pipeline_id=made, error=wish.fault)
        if made is not None:
            await self._services.notifications.notify(OUTBOX)
            await repository.keep(made, wish.request.sha)

    async def _refuse(self, row: Record, error: str) -> None:
        log.warning("a subscription makes no pipeline", run=row.id, project=row.project_id, reason=error)
        async with self._database.write() as connection:
            if await subscriptions.finish(connection, row.id, self._services.clock()):
                await subscriptions.tell(connection, row.id, error=error)

    async def _back_off(self, row: Record, error: str) -> None:
        try:
            async with self._database.write() as connection:
                await subscriptions.back_off(connection, row, error, self._services.clock())
        except PerdureError:
            log.warning("a run of a subscription waits for the database", run=row.id)  # it is due again by itself
