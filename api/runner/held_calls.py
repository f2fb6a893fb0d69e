"""Calls of runners for the jobs that they hold: what needs no transaction of its own is done for many at once."""

from collections.abc import Collection, Mapping

from api.runner.batching import AskedTogether
from models.repositories.queue import held_jobs
from models.repositories.queue.held_jobs import HeldJob
from models.session import Database

_MAX_CONCURRENT = 64


class HeldCalls:
    """Looks at held jobs, and renewals of their leases, as they come."""

    def __init__(self, database: Database) -> None:
        """Ask this database."""
        self._database = database
        self._looks = AskedTogether(self._look, _MAX_CONCURRENT)
        self._renewals = AskedTogether(self._renew, _MAX_CONCURRENT)

    async def look(self, job_id: int) -> HeldJob | None:
        """A job, held or not."""
        return await self._looks.ask(job_id)

    async def renew(self, row: HeldJob) -> bool:
        """Note a call, once a tick; false when that hand-out does not hold its job any more."""
        return held_jobs.is_renewed(row) or bool(await self._renewals.ask((row.id, row.hand_out)))

    async def _look(self, job_ids: Collection[int]) -> Mapping[int, HeldJob]:
        async with self._database.read() as connection:
            return await held_jobs.look_at(connection, job_ids)

    async def _renew(self, held: Collection[tuple[int, int]]) -> Mapping[tuple[int, int], bool]:
        async with self._database.write_once() as connection:
            return await held_jobs.renew_all(connection, held)
