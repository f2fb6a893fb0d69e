"""A loop over outbox rows of some kinds: what fails comes again later, and a bridge that never works out has failed."""

from abc import abstractmethod
from collections.abc import Sequence
from datetime import datetime
from typing import Final

import structlog
from sqlalchemy.ext.asyncio import AsyncConnection

from application.services import Services
from domain.errors import StorageFull, Unavailable
from domain.pipelines.bridges import CREATION_FAILED, TEXT_OF
from loops.due_rows import MAX_ATTEMPTS, LockedRowsLoop
from models.repositories.pipelines import bridges, outbox
from models.repositories.pipelines.bridges import Bridge
from models.rows.outbox import UnsentRow

_FAULT: Final = f"{TEXT_OF[CREATION_FAILED]}: the server met a fault of its own; see its log."

log = structlog.get_logger()


class OutboxRowsLoop(LockedRowsLoop[UnsentRow]):
    """Carries out outbox rows until it is cancelled; a row goes in the transaction of its effect."""

    def __init__(
        self, services: Services, name: str, max_concurrent: int, topic: str, kinds: Sequence[str], of_bridges: str
    ) -> None:
        """`kinds` are those of its rows; behind rows of the kind `of_bridges` waits a bridge."""
        super().__init__(services, name, max_concurrent, topic)
        self._kinds = kinds
        self._of_bridges = of_bridges

    @abstractmethod
    async def work(self, row: UnsentRow) -> None:
        """Do what a row asks for. Raises `Unavailable` and `StorageFull`: it comes again later."""

    @abstractmethod
    async def refuse(self, row: UnsentRow, bridge: Bridge, text: str) -> None:
        """Let a bridge fail whose row was tried too often; `text` says why. Raises as `work` does."""

    async def due(self, connection: AsyncConnection, now: datetime, limit: int) -> Sequence[UnsentRow]:
        """Rows of its kinds."""
        return await outbox.unsent(connection, now, limit, self._kinds)

    async def hold(self, connection: AsyncConnection, ids: Sequence[int], until: datetime) -> None:
        """Keep them from other processes."""
        await outbox.hold(connection, ids, until)

    async def next_due(self, after: datetime) -> datetime | None:
        """When the next row is due that was not at `after`."""
        async with self._database.read() as connection:
            return await outbox.next_due(connection, after, self._kinds)

    async def carry_out(self, row: UnsentRow) -> None:
        """Do what a row asks for, or have it come again later."""
        try:
            await self.work(row)
        except (Unavailable, StorageFull) as error:
            await self._back_off(row, str(error))
        except Exception as error:
            log.exception("a row of the outbox could not be carried out", of=self._name, row=row.id, kind=row.kind)
            await self._give_up(row, error)

    async def done(self, row: UnsentRow) -> None:
        """Nothing is left to be done."""
        async with self._database.write() as connection:
            await outbox.mark_sent(connection, [row], self._services.clock())

    async def _back_off(self, row: UnsentRow, error: str) -> None:
        try:
            async with self._database.write() as connection:
                await outbox.back_off(connection, row.id, row.attempts, error, self._services.clock())
        except (Unavailable, StorageFull):
            log.warning("a row of the outbox waits for the database", of=self._name, row=row.id)  # it is due again

    async def _give_up(self, row: UnsentRow, error: Exception) -> None:
        """A fault that nobody expected: perhaps it passes, if not the bridge must not wait for ever."""
        if row.kind != self._of_bridges or row.attempts < MAX_ATTEMPTS:
            await self._back_off(row, repr(error))
            return
        try:
            async with self._database.read() as connection:
                bridge = await bridges.read(connection, row.named_job)
            await self.refuse(row, bridge, _FAULT)
        except (Unavailable, StorageFull):
            await self._back_off(row, repr(error))
