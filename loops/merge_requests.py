"""The loop that carries on what merge requests wait for: pipelines that are owed, merges by themselves, merge trains.

It looks at rows again and again and remembers nothing, so that it does not matter which process does it, or when it was
killed; several may run at once, since each effect is one guarded transaction.
"""

from typing import Any, Final

import structlog

from application.merge_requests import noticing
from application.merge_requests import pipelines as owed
from application.merge_requests.context import MergeContext, around
from application.merge_requests.merging import merge_now, merger, unlock_abandoned
from application.merge_requests.source_branch import remove_source_branch
from application.merge_requests.standing import assess
from application.merge_requests.telling import tell
from application.merge_requests.trains import advance_all
from application.merge_requests.wishes import MergeOptions
from application.services import Services
from domain.errors import Forbidden, NotFound, PerdureError, Refused, Unauthenticated
from domain.merge_requests.merge_request import AutoMerge, State, Turn, auto_merge_turn
from domain.merge_requests.notes import of_auto_merge_given_up
from loops.rounds import when_told
from models.notifications import MERGES
from models.repositories.merge_requests import merge_request_events, merge_request_notes, merge_requests, trains
from models.repositories.merge_requests.merge_requests import WaitingRow

EVERY: Final = 1.0
"""Seconds between two looks when nobody says that something has changed; a look without work is a few reads."""
BATCH: Final = 50

log = structlog.get_logger()


class MergeLoop:
    """Carries on with merge requests until it is cancelled."""

    def __init__(self, services: Services, every: float = EVERY) -> None:
        """Look every `every` seconds, and when somebody says so."""
        self._services = services
        self._every = every

    async def run(self) -> None:
        """Carry on for ever."""
        await self._begin()
        fault = "the loop of merge requests stumbled; it goes on"
        await when_told(self._services.notifications, MERGES, self._step, self._every, fault)

    async def _step(self) -> float:
        await self.step()
        return self._every

    async def _begin(self) -> None:
        """Whatever is locked or owed was left by the process before, where there is only one."""
        services = self._services
        if not services.database.is_sqlite:
            return
        try:
            async with services.database.write() as connection:
                await merge_request_events.hasten(connection, services.clock())
            await unlock_abandoned(services, all_of_them=True)
        except PerdureError as error:
            log.warning("interrupted merges are settled later", error=str(error))

    async def step(self) -> int:
        """Do what there is to do now; give back how much that was."""
        done = await self.carry_out_due()
        done += await self.merge_what_may()
        done += await advance_all(self._services)
        return done + await unlock_abandoned(self._services)

    async def carry_out_due(self) -> int:
        """Carry out the events that nobody has carried out."""
        services = self._services
        async with services.database.read() as connection:
            rows = await merge_request_events.due(connection, services.clock(), BATCH)
        for row in rows:
            try:
                if row.kind == merge_request_events.PIPELINE:
                    await owed.carry_out(services, row)
                else:
                    await remove_source_branch(services, row)
            except PerdureError as error:
                log.warning("an event of a merge request has to wait", row=row.id, error=str(error))
                async with services.database.write() as connection:
                    await merge_request_events.back_off(connection, row, str(error), services.clock())
        return len(rows)

    async def merge_what_may(self) -> int:
        """Merge, or put on its train, what waited for its pipeline; give back how many there were."""
        services = self._services
        async with services.database.read() as connection:
            rows = await merge_requests.that_wait(connection)
            waiting = [(row, await around(services, connection, row)) for row in rows]
        done = 0
        for row, here in waiting:
            try:
                done += await self._take_turn(row, here)
            except PerdureError as error:
                log.warning("a merge request cannot be merged by itself yet", of=here.reference, error=str(error))
        return done

    async def _take_turn(self, row: WaitingRow, here: MergeContext) -> bool:
        found = await assess(self._services, here)
        turn = auto_merge_turn(found.standing)
        if turn is Turn.WAIT:
            return False
        if turn is Turn.GIVE_UP or found.target_head is None:
            return await self._give_up(row, here, "it cannot be merged any more")
        try:
            access = await merger(self._services, here, row.auto_merge_user_id)
            options = MergeOptions(**row.merge_options)
            if row.auto_merge == AutoMerge.TRAIN:
                return await self._put_on(row)
            await merge_now(self._services, here, access, found.target_head, options)
        except (Forbidden, NotFound, Unauthenticated):
            return await self._give_up(row, here, "whoever asked for it may not merge any more")
        except Refused as error:
            # A target that has moved meanwhile is no reason: the next look sees where it is.
            log.info("a merge is tried again", merge_request=here.reference, why=str(error))
            return False
        return True

    async def _put_on(self, row: WaitingRow) -> bool:
        now = self._services.clock()
        async with self._services.database.write() as connection:
            values: dict[str, Any] = {"auto_merge": AutoMerge.NONE}
            if await merge_requests.move_state(connection, row.id, State.OPENED, now, **values):
                await trains.put_on(connection, row, row.auto_merge_user_id, row.merge_options, now)
        await tell(self._services, row.id, row.project_id)
        return True

    async def _give_up(self, row: WaitingRow, here: MergeContext, why: str) -> bool:
        now = self._services.clock()
        values: dict[str, Any] = {"auto_merge": AutoMerge.NONE, "merge_error": f"Auto-merge was canceled: {why}."}
        async with self._services.database.write() as connection:
            if await merge_requests.move_state(connection, row.id, State.OPENED, now, **values):
                said = of_auto_merge_given_up(why)
                await merge_request_notes.add_system(connection, row.id, row.auto_merge_user_id, said, now)
                await noticing.auto_merge_failed(connection, row, why, None, now)
        await tell(self._services, row.id, row.project_id)
        log.info("an automatic merge was given up", merge_request=here.reference, why=why)
        return True
