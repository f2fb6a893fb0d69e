"""The outbox relay between a real database and a stand-in for Temporal that loses, refuses and forgets."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.ext.asyncio import AsyncConnection
from temporalio.service import RPCError, RPCStatusCode

from domain.messages import Operation, PipelineFacts
from domain.pipelines.verdict import Verdict
from loops.relay import Relay
from models.notifications import Notifications
from models.repositories.pipelines import outbox
from models.session import Database
from settings import Settings, TimeLimits
from tests.models.database import migrated
from tests.models.world import BEGIN, World, outbox_table

PATIENCE = 60


class Temporal:
    """What the relay asks of Temporal, and what it gets: `refuses` names pipelines with the error that meets them."""

    def __init__(self) -> None:
        self.refuses: dict[int, Exception] = {}
        self.started: list[int] = []
        self.rung: list[int] = []
        self.signals: list[tuple[int, str]] = []

    async def start(self, facts: PipelineFacts) -> None:
        """Start a pipeline."""
        self._meet(facts.pipeline_id)
        self.started.append(facts.pipeline_id)

    async def complete(self, pipeline_id: int, verdict: Verdict, _room: str) -> None:
        """Complete the activity of a job."""
        self._meet(pipeline_id)
        self.rung.append(verdict.job_id)

    async def signal(self, facts: PipelineFacts, name: str, _operation: Operation) -> None:
        """Signal with start."""
        self.signals.append((facts.pipeline_id, name))

    def _meet(self, pipeline_id: int) -> None:
        if pipeline_id in self.refuses:
            raise self.refuses[pipeline_id]


def rpc(status: RPCStatusCode) -> RPCError:
    """What Temporal answers."""
    return RPCError(status.name.lower(), status, b"")


class Counted(Database):
    """A database that counts its transactions that write."""

    writes = 0

    @asynccontextmanager
    async def write(self, *, is_long: bool = False) -> AsyncIterator[AsyncConnection]:
        """One more."""
        self.writes += 1
        async with super().write(is_long=is_long) as connection:
            yield connection


@pytest.fixture
async def world(tmp_path: Path, database_url: str) -> AsyncIterator[World]:
    """A world in an empty database of each kind."""
    async with migrated(Counted(Settings(home=tmp_path, database_url=database_url).database)) as database:
        yield await World.make(database)


@pytest.fixture
def temporal() -> Temporal:
    """It takes everything."""
    return Temporal()


@pytest.fixture
def relay(world: World, temporal: Temporal, tmp_path: Path) -> Relay:
    """The relay between the two."""
    stand_in: Any = temporal
    settings = Settings(home=tmp_path, times=TimeLimits(outbox_not_found=PATIENCE))
    return Relay(world.database, stand_in, Notifications(), world.now, settings)


async def left(world: World) -> dict[int, int]:
    """Pipelines whose rows Temporal has not taken, with how often each was tried."""
    return {row.pipeline_id: row.attempts for row in await world.rows(outbox_table) if row.sent_at is None}


async def ended(world: World) -> tuple[int, int]:
    """A pipeline, one of whose jobs has ended: only the bell is in the outbox."""
    pipeline_id = await world.begin("a: {script: x}\nb: {script: y}\n")
    async with world.database.write() as connection:
        await connection.execute(outbox_table.delete())
    job_id = await world.take()
    await world.end(job_id)
    return pipeline_id, job_id


async def test_a_bell_that_nobody_hears_is_rung_again_before_the_pipeline_is_reconciled(
    world: World, temporal: Temporal, relay: Relay
) -> None:
    """NOT_FOUND may only mean that the activity comes a moment later; after a minute SQL has to be read again."""
    pipeline_id, job_id = await ended(world)
    temporal.refuses = {pipeline_id: rpc(RPCStatusCode.NOT_FOUND)}
    assert await relay.send_due() == 0
    assert (await left(world), temporal.signals) == ({pipeline_id: 1}, [])
    world.seconds += PATIENCE
    assert await relay.send_due() == 1
    assert temporal.signals == [(pipeline_id, "reconcile")]
    assert [row.job_id for row in await world.outbox(pipeline_id, outbox.OUTCOME)] == [job_id]


async def test_a_bell_for_a_folded_verdict_is_not_rung(world: World, temporal: Temporal, relay: Relay) -> None:
    pipeline_id, job_id = await ended(world)
    async with world.database.read() as connection:
        rows = await outbox.unsent(connection, world.now(), 10)
    await world.end(await world.take())
    await world.settle(pipeline_id)
    async with world.database.read() as connection:
        assert not await outbox.unsent(connection, world.now(), 10)
    async with world.database.write() as connection:  # another relay had read the row before it was retired
        values = asdict(rows[0])
        await connection.execute(outbox_table.insert().values(**values, error="", not_before=world.now()))
    temporal.refuses = {pipeline_id: rpc(RPCStatusCode.NOT_FOUND)}
    assert await relay.send_due() == 1
    assert (temporal.rung, temporal.signals, job_id) == ([], [], rows[0].job_id)


@pytest.mark.parametrize("status", [RPCStatusCode.UNAVAILABLE, RPCStatusCode.RESOURCE_EXHAUSTED])
async def test_a_row_that_is_refused_backs_off_and_keeps_no_other(
    world: World, temporal: Temporal, relay: Relay, status: RPCStatusCode
) -> None:
    first, second, third = [await world.create() for _ in range(3)]
    temporal.refuses = {second: rpc(status)}
    assert await relay.send_due() == 2
    assert temporal.started == [first, third]
    assert await left(world) == {second: 1}
    async with world.database.read() as connection:
        due = await outbox.next_due(connection, BEGIN)
    assert due is not None
    temporal.refuses = {}
    world.seconds += 1
    assert await relay.send_due() == 1
    assert temporal.started == [first, third, second]
    assert await left(world) == {}


async def test_a_row_that_fails_as_nobody_expected_keeps_no_other(
    world: World, temporal: Temporal, relay: Relay
) -> None:
    first, second, third = [await world.create() for _ in range(3)]
    temporal.refuses = {second: ZeroDivisionError()}
    assert await relay.send_due() == 2
    assert temporal.started == [first, third]
    assert await left(world) == {second: 1}


async def test_a_pipeline_that_cannot_be_reconciled_keeps_no_other(
    world: World, temporal: Temporal, relay: Relay, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Temporal goes away between the bell that it does not know and the message that shall mend this."""
    pipeline_id, _ = await ended(world)
    other = await world.create()
    world.seconds += PATIENCE
    temporal.refuses = {pipeline_id: rpc(RPCStatusCode.NOT_FOUND)}

    async def away(*_: Any) -> None:
        raise rpc(RPCStatusCode.UNAVAILABLE)

    monkeypatch.setattr(temporal, "signal", away)
    assert await relay.send_due() == 1
    assert temporal.started == [other]
    assert await left(world) == {pipeline_id: 1}


async def test_what_was_sent_by_a_relay_that_died_is_sent_again(
    world: World, temporal: Temporal, relay: Relay, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It dies between Temporal's answer and the mark in SQL."""
    pipeline_id, job_id = await ended(world)
    with monkeypatch.context() as fault:
        fault.setattr(outbox, "mark_sent", _dies)
        with pytest.raises(KeyboardInterrupt):
            await relay.send_due()
    assert temporal.rung == [job_id]
    temporal.refuses = {pipeline_id: rpc(RPCStatusCode.NOT_FOUND)}  # the activity is complete: nobody waits any more
    world.seconds += int(timedelta(minutes=2).total_seconds())
    assert await relay.send_due() == 1
    assert temporal.signals == [(pipeline_id, "reconcile")]


async def _dies(*_: Any) -> None:
    raise KeyboardInterrupt


async def test_a_look_that_finds_nothing_writes_nothing(world: World, relay: Relay) -> None:
    await world.create()
    assert isinstance(world.database, Counted)
    assert await relay.send_due() == 1
    before = world.database.writes
    for _ in range(3):
        assert await relay.send_due() == 0
    assert world.database.writes == before
