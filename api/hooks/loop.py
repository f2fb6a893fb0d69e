"""The loop that makes the pipelines of pull requests that forges told of, as soon as the mirror has their commit."""

import asyncio
from datetime import timedelta
from typing import Final

import structlog

from api.deps import access_to, caller_from
from api.prepared_pipelines import Prepared, prepared
from api.services import Services
from domain.errors import Forbidden, Invalid, NotFound, PerdureError, StorageFull, Unauthenticated, Unavailable
from git.repository import Repository
from models.columns import Record
from models.notifications import OUTBOX
from models.repositories import accounts, incoming_hooks
from models.repositories.pipelines import PipelineRequest

SOURCE: Final = "external_pull_request_event"
RESCAN: Final = 2.0
"""Seconds between two looks."""
HELD: Final = timedelta(seconds=60)
"""How long other processes leave a call alone that this one has taken."""
PATIENCE: Final = timedelta(hours=6)
"""How long a commit may take to come."""
AT_ONCE: Final = 8

log = structlog.get_logger()


class PullRequestLoop:
    """Makes the pipelines of pull requests until it is cancelled."""

    def __init__(self, services: Services) -> None:
        """Take what the composition root made."""
        self._services = services
        self._database = services.database

    async def run(self) -> None:
        """Carry out calls for ever."""
        while True:
            try:
                while await self.carry_out_due():
                    """There may be more."""
            except Exception:
                log.exception("the loop of pull requests stumbled; it goes on")
            await asyncio.sleep(RESCAN)

    async def carry_out_due(self) -> int:
        """Carry out what is due; how many calls there were."""
        now = self._services.clock()
        async with self._database.read() as connection:
            if not await incoming_hooks.is_due(connection, now):
                return 0
        async with self._database.write() as connection:
            rows = await incoming_hooks.hold_due(connection, now, now + HELD, AT_ONCE)
        await asyncio.gather(*(self.carry_out(row) for row in rows))
        return len(rows)

    async def carry_out(self, row: Record) -> None:
        """Make the pipeline of a call, or write down why there is none, or look again later."""
        try:
            wish, repository = await self._wish(row)
            if wish is None or repository is None:
                await self._wait(row)
            else:
                await self._finish(row, wish, repository)
        except (Invalid, NotFound, Forbidden, Unauthenticated) as error:
            await self._give_up(row, str(error))
        except (Unavailable, StorageFull) as error:
            await self._back_off(row, str(error))
        except Exception as error:
            log.exception("the pipeline of a pull request could not be made", delivery=row.id)
            await self._back_off(row, repr(error))

    async def _wish(self, row: Record) -> tuple[Prepared | None, Repository | None]:
        """What a call wants, once its commit is here; whoever set up the hook must still be allowed to run it."""
        async with self._database.read() as connection:
            user = await accounts.get(connection, row.user_id)
        if user.state != accounts.ACTIVE:
            raise Forbidden(f"{user.username}, who set up the hook, is blocked.")
        access = await access_to(self._services, caller_from(user), row.project_id)
        branch, sha = row.request["source_branch"], row.request["source_sha"]
        access.require_run(branch, tag=False)
        try:
            repository = self._services.repositories.get(row.project_id)
            await repository.commit(sha)
        except NotFound:
            return None, None
        request = PipelineRequest(
            project_id=row.project_id,
            user_id=user.id,
            ref=branch,
            sha=sha,
            source=SOURCE,
            origin={"external_pull_request": dict(row.request)},
        )
        return await prepared(self._services, request, repository), repository

    async def _finish(self, row: Record, wish: Prepared, repository: Repository) -> None:
        async with self._database.write() as connection:
            if not await incoming_hooks.finish(connection, row.id, self._services.clock()):
                return
            made = await wish.save(self._services, connection)
            await incoming_hooks.tell(connection, row.id, pipeline_id=made, error=wish.fault)
        if made is not None:
            await self._services.notifications.notify(OUTBOX)
            await repository.keep(made, wish.request.sha)

    async def _wait(self, row: Record) -> None:
        text = f"The commit {row.request['source_sha'][:8]} is not here yet: the mirror has not brought it."
        if self._services.clock() - row.created_at > PATIENCE:
            await self._give_up(row, text)
        else:
            await self._back_off(row, text)

    async def _give_up(self, row: Record, error: str) -> None:
        log.warning("a pull request gets no pipeline", delivery=row.id, project=row.project_id, reason=error)
        async with self._database.write() as connection:
            if await incoming_hooks.finish(connection, row.id, self._services.clock()):
                await incoming_hooks.tell(connection, row.id, error=error)

    async def _back_off(self, row: Record, error: str) -> None:
        try:
            async with self._database.write() as connection:
                await incoming_hooks.back_off(connection, row, error, self._services.clock())
        except PerdureError:
            log.warning("a pull request waits for the database", delivery=row.id)  # it is due again by itself
