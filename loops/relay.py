"""The outbox relay: tells Temporal what SQL has decided, again and again until Temporal took it.

Rows are sent at the same time; each backs off by itself. A relay that is killed loses nothing: the next one sends what
is unsent, and what was sent twice changes nothing.
"""

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TypeAlias

import structlog
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError, RPCStatusCode

from domain.errors import Unavailable
from domain.messages import Operation, PipelineFacts
from metrics.server_metrics import ServerMetrics
from models.clock import Clock
from models.notifications import OUTBOX, Notifications
from models.repositories.pipelines import outbox, pipelines
from models.repositories.pipelines.verdicts import Outcome, outcomes
from models.rows.outbox import UnsentRow
from models.session import Database
from settings import Settings
from workflows.handles import Pipelines

BATCH = 200
FLIGHTS = 4
"""So many batches are on their way at the same time."""
IDLE = 1.0
"""Seconds after which an idle relay looks for rows again without having been woken."""

_AWAY = frozenset({RPCStatusCode.UNAVAILABLE, RPCStatusCode.DEADLINE_EXCEEDED, RPCStatusCode.CANCELLED})

Verdicts: TypeAlias = dict[int, Outcome]
"""By job: how it ended."""
Looks: TypeAlias = dict[int, "asyncio.Future[None]"]
"""By resource group: the call that lets it look who comes next."""

log = structlog.get_logger()


class Relay:
    """Sends outbox rows until it is cancelled."""

    def __init__(
        self,
        database: Database,
        workflows: Pipelines,
        notifications: Notifications,
        clock: Clock,
        settings: Settings,
        metrics: ServerMetrics | None = None,
    ) -> None:
        """Take what the composition root made."""
        self._metrics = metrics or ServerMetrics()
        self._database = database
        self._workflows = workflows
        self._notifications = notifications
        self._clock = clock
        self._patience = timedelta(seconds=settings.times.outbox_not_found)
        self._flying: set[int] = set()

    async def run(self) -> None:
        """Send for ever; what comes in meanwhile does not wait until Temporal has answered for what went before."""
        flights: set[asyncio.Task[int]] = set()
        try:
            while True:
                waiter = self._notifications.subscribe(OUTBOX)
                looked_at = self._clock()
                rows = await self._found()
                if rows:
                    flights.add(asyncio.create_task(self._deliver(rows)))
                if len(flights) >= FLIGHTS:
                    _, flights = await asyncio.wait(flights, return_when=asyncio.FIRST_COMPLETED)
                if len(rows) < BATCH:
                    await asyncio.wait([waiter], timeout=await self._pause(looked_at))
                self._notifications.leave(OUTBOX, waiter)
                flights = {flight for flight in flights if not flight.done()}
        finally:
            for flight in flights:
                flight.cancel()
            await asyncio.gather(*flights, return_exceptions=True)

    async def _found(self) -> Sequence[UnsentRow]:
        try:
            return await self._take()
        except Exception:
            log.exception("the outbox relay stumbled; it goes on")
            return ()

    async def _pause(self, looked_at: datetime) -> float:
        """Seconds until the next row is due, `IDLE` at most; what was due then was found."""
        try:
            async with self._database.read() as connection:
                due = await outbox.next_due(connection, looked_at)
        except Unavailable:
            return IDLE
        return IDLE if due is None else min(IDLE, max(0.01, (due - self._clock()).total_seconds()))

    async def send_due(self) -> int:
        """Send every row that is due; give back how many Temporal took."""
        return await self._deliver(await self._take())

    async def _deliver(self, rows: Sequence[UnsentRow]) -> int:
        """Send these rows; what happens to one of them happens to no other."""
        try:
            return await self._send_all(rows) if rows else 0
        except Exception:
            log.exception("the outbox relay stumbled; it goes on")
            return 0
        finally:
            self._flying.difference_update(row.id for row in rows)

    async def _send_all(self, rows: Sequence[UnsentRow]) -> int:
        facts = await self._facts(rows)
        verdicts = await self._verdicts(rows)
        looks = self._looks(rows)
        results = await asyncio.gather(*(self._send(row, facts, verdicts, looks) for row in rows))
        self._count(rows, results)
        done = [row for row, taken in zip(rows, results, strict=True) if taken]
        if done:
            async with self._database.write() as connection:
                await outbox.mark_sent(connection, done, self._clock())
        return len(done)

    def _count(self, rows: Sequence[UnsentRow], taken: Sequence[bool]) -> None:
        now = self._clock()
        for row, is_taken in zip(rows, taken, strict=True):
            age = (now - row.created_at).total_seconds()
            self._metrics.sent(row.kind, "sent" if is_taken else "later", age)

    async def _take(self) -> Sequence[UnsentRow]:
        """Rows that nobody sends now; they fly from here on."""
        rows = await (self._alone() if self._database.is_sqlite else self._among_others())
        taken = [row for row in rows if row.id not in self._flying][:BATCH]
        self._flying.update(row.id for row in taken)
        return taken

    async def _alone(self) -> Sequence[UnsentRow]:
        """SQLite has one relay: it remembers itself what it sends."""
        async with self._database.read() as connection:
            return await outbox.unsent(connection, self._clock(), BATCH + len(self._flying))

    async def _among_others(self) -> Sequence[UnsentRow]:
        now = self._clock()
        async with self._database.read() as connection:
            if not await outbox.unsent(connection, now, 1):
                return ()
        async with self._database.write() as connection:
            rows = await outbox.unsent(connection, now, BATCH)
            await outbox.hold(connection, [row.id for row in rows], now)
            return rows

    async def _facts(self, rows: Sequence[UnsentRow]) -> dict[int, PipelineFacts]:
        wanted = {row.pipeline_id for row in rows if row.kind != outbox.OUTCOME}
        if not wanted:
            return {}
        async with self._database.read() as connection:
            return await pipelines.facts_of(connection, wanted)

    async def _verdicts(self, rows: Sequence[UnsentRow]) -> Verdicts:
        wanted = [row.job_id for row in rows if row.kind == outbox.OUTCOME and row.job_id is not None]
        if not wanted:
            return {}
        async with self._database.read() as connection:
            return await outcomes(connection, wanted)

    def _looks(self, rows: Sequence[UnsentRow]) -> Looks:
        """Each resource group of these rows is told once, however many of its jobs began to wait or ended."""
        groups = {row.payload["group"] for row in rows if row.kind == outbox.GROUP}
        return {group: asyncio.ensure_future(self._workflows.look(group)) for group in groups}

    async def _send(self, row: UnsentRow, facts: dict[int, PipelineFacts], verdicts: Verdicts, looks: Looks) -> bool:
        """Whether Temporal took the row."""
        try:
            if row.kind == outbox.START:
                await self._workflows.start(facts[row.pipeline_id])
            elif row.kind == outbox.OUTCOME:
                outcome = verdicts[row.named_job]
                if not outcome.folded:
                    await self._workflows.complete(row.pipeline_id, outcome.verdict, outcome.room)
            elif row.kind == outbox.GROUP:
                await looks[row.payload["group"]]
            else:
                operation = Operation(
                    row.payload["key"],
                    row.job_id,
                    row.payload.get("variables", {}),
                    row.payload.get("reason", ""),
                    row.payload.get("from_step", ""),
                )
                await self._workflows.signal(facts[row.pipeline_id], row.payload["name"], operation)
        except WorkflowAlreadyStartedError:
            return True
        except RPCError as error:
            return await self._refused(row, error)
        except Exception as error:
            log.exception("an outbox row could not be sent", row=row.id, kind=row.kind)
            return await self._back_off(row, error)
        return True

    async def _refused(self, row: UnsentRow, error: RPCError) -> bool:
        now = self._clock()
        is_bell = row.kind == outbox.OUTCOME
        if error.status is RPCStatusCode.NOT_FOUND and is_bell and self._is_old(row, now):
            log.warning("Temporal does not know the job; its pipeline is reconciled", job=row.job_id)
            async with self._database.read() as connection:
                known = await pipelines.facts_of(connection, [row.pipeline_id])
            try:
                await self._workflows.signal(known[row.pipeline_id], "reconcile", Operation())
            except RPCError as away:
                return await self._back_off(row, away)
            return True
        if error.status not in _AWAY | {RPCStatusCode.NOT_FOUND}:
            log.warning("Temporal refused an outbox row", row=row.id, kind=row.kind, error=str(error))
        return await self._back_off(row, error)

    async def _back_off(self, row: UnsentRow, error: Exception) -> bool:
        async with self._database.write() as connection:
            await outbox.back_off(connection, row.id, row.attempts, str(error) or repr(error), self._clock())
        return False

    def _is_old(self, row: UnsentRow, now: datetime) -> bool:
        return now - row.created_at > self._patience
