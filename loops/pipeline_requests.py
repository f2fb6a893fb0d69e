"""The loop that makes the pipelines that are owed: it takes the rows that say so, until each is done."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Final

import structlog

from application.pipelines.prepared import Prepared
from application.services import Services
from domain.errors import Forbidden, Invalid, NotFound, PerdureError, StorageFull, Unauthenticated, Unavailable
from loops.due_rows import HELD, DueRowsLoop
from models.notifications import OUTBOX
from models.repositories.accounts import accounts
from models.repositories.pipelines.pipeline_requests import Owed, OwedPipelines
from models.rows.accounts import UserRow

MAX_CONCURRENT: Final = 8

log = structlog.get_logger()


class NotYet(Exception):  # nothing is wrong
    """A row that is due, but what it needs is not here yet."""


class OwedPipelineLoop(DueRowsLoop[Owed]):
    """Makes the pipelines of one kind of rows until it is cancelled."""

    def __init__(self, services: Services, rows: OwedPipelines[Owed], name: str) -> None:
        """`name` says in the log whose pipelines they are."""
        super().__init__(services, name, MAX_CONCURRENT)
        self._rows = rows

    @abstractmethod
    async def wish(self, row: Owed) -> Prepared:
        """The pipeline that a row owes.

        Raises an error of ours for a row that is never to have one, `NotYet` or `Unavailable` for one that must wait.
        """

    async def take(self, room: int) -> Sequence[Owed]:
        """Rows that are due, held for this process."""
        now = self._services.clock()
        async with self._database.read() as connection:
            if not await self._rows.is_due(connection, now):
                return ()
        async with self._database.write() as connection:
            return await self._rows.hold_due(connection, now, now + HELD, room)

    async def carry_out(self, row: Owed) -> None:
        """Make the pipeline of a row, or write down why there is none, or look again later."""
        try:
            await self._finish(row, await self.wish(row))
        except (Invalid, NotFound, Forbidden, Unauthenticated) as error:
            await self._give_up(row, str(error))
        except (NotYet, Unavailable, StorageFull) as error:
            await self._back_off(row, str(error))
        except Exception as error:
            log.exception("an owed pipeline could not be made", of=self._name, row=row.id)
            await self._back_off(row, repr(error))

    async def person(self, user_id: int, what: str) -> UserRow:
        """Who it is for. Raises `Forbidden` for somebody who is blocked by now; `what` is what that person did."""
        async with self._database.read() as connection:
            user: UserRow = await accounts.get(connection, user_id)
        if user.state != accounts.ACTIVE:
            raise Forbidden(f"{user.username}, who {what}, is blocked.")
        return user

    async def _finish(self, row: Owed, wish: Prepared) -> None:
        async with self._database.write() as connection:
            if not await self._rows.finish(connection, row.id, self._services.clock()):
                return
            made = await wish.save(self._services, connection)
            await self._rows.tell(connection, row.id, pipeline_id=made, error=wish.fault)
        if made is not None:
            await self._services.notifications.notify(OUTBOX)
            await wish.repository.keep(made, wish.request.sha)

    async def _give_up(self, row: Owed, error: str) -> None:
        log.warning("no pipeline is made", of=self._name, row=row.id, project=row.project_id, reason=error)
        async with self._database.write() as connection:
            if await self._rows.finish(connection, row.id, self._services.clock()):
                await self._rows.tell(connection, row.id, error=error)

    async def _back_off(self, row: Owed, error: str) -> None:
        try:
            async with self._database.write() as connection:
                await self._rows.back_off(connection, row, error, self._services.clock())
        except PerdureError:
            log.warning(
                "an owed pipeline waits for the database", of=self._name, row=row.id
            )  # it is due again by itself
