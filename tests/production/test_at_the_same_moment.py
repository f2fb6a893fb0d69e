"""What processes that share a PostgreSQL do at the same moment: start, hear of a runner, begin bridges, notify."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest
from sqlalchemy import func, select, text, update

from domain.pipelines.status import Status
from domain.pods.identity import PodIdentity
from models.clock import system_clock
from models.columns import table_of
from models.migrate import migrate
from models.notifications import OUTBOX, PostgresNotifications
from models.repositories.installation import installations
from models.repositories.pipelines import bridges, folding
from models.repositories.queue import contacts
from models.repositories.queue.contacts import Contact
from models.repositories.runners import runners
from models.session import Database
from models.tables.runners import RunnerManager
from rigs.postgres import fresh_database
from tests.models.world import World, job, pipeline
from tests.waiting import eventually

PROCESSES = 6


@pytest.fixture
async def databases(postgres: str) -> AsyncIterator[list[Database]]:
    """The same empty database, as several processes see it."""
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(fresh_database(postgres))
        opened = [Database(url) for _ in range(PROCESSES)]
        for database in opened:
            stack.push_async_callback(database.close)
        yield opened


async def test_processes_that_start_together_make_one_installation(databases: list[Database]) -> None:
    await asyncio.gather(*(migrate(database) for database in databases))
    all_are_there = asyncio.Barrier(PROCESSES)

    async def installation_of(database: Database) -> str:
        async with database.write() as connection:
            await all_are_there.wait()
            row = await installations.ensure(connection, PodIdentity("default", 0), system_clock())
            return str(row.installation_id)

    assert len(set(await asyncio.gather(*(installation_of(database) for database in databases)))) == 1


async def test_the_first_calls_of_a_runner_process_make_one_row(databases: list[Database]) -> None:
    await migrate(databases[0])
    async with databases[0].write() as connection:
        runner_id = await runners.create(connection, "hash", system_clock())
    all_are_there = asyncio.Barrier(PROCESSES)

    async def call(database: Database) -> None:
        async with database.write() as connection:
            await all_are_there.wait()
            await contacts.write(connection, [Contact(runner_id, "s_0123456789ab", {}, "10.0.0.1")], system_clock())

    await asyncio.gather(*(call(database) for database in databases))
    async with databases[0].read() as connection:
        count = await connection.execute(select(func.count()).select_from(table_of(RunnerManager)))
        assert count.scalar_one() == 1


async def test_a_bridge_begins_while_a_decision_about_its_pipeline_is_written(databases: list[Database]) -> None:
    """The decision holds the stages and then wants the pipeline; the bridge must not hold that and want a stage."""
    await migrate(databases[0])
    world = await World.make(databases[0])
    child = await world.create()
    parent = await world.create(
        "never: {stage: build, script: make}\ngo: {stage: build, trigger: {project: acme/other}}"
    )
    await world.settle(parent)
    never, row = await world.rows(job, pipeline_id=parent)
    await world.end(never.id, Status.FAILED, reason="stuck_or_timeout_failure")
    await world.settle(parent)  # its stage is running, and no job has

    async def begin() -> None:
        async with databases[1].write() as connection:
            assert await bridges.is_pending(connection, row.id)
            await bridges.begin(connection, await bridges.read(connection, row.id), child, system_clock())

    async with databases[0].write() as connection:
        await folding.lock_stages(connection, [parent])
        beginning = asyncio.create_task(begin())
        await eventually(lambda: _somebody_waits(databases[2]), "the bridge waits for the decision")
        lifted = update(pipeline).where(pipeline.c.id == parent).values(updated_at=system_clock())
        await connection.execute(lifted)
    await beginning
    assert (await world.row(job, id=row.id)).status == "success"


async def _somebody_waits(database: Database) -> bool:
    """Whether a connection of this database waits for a lock that another one holds."""
    async with database.read() as connection:
        waiting = await connection.execute(
            text(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
            )
        )
        return bool(waiting.scalar_one())


@pytest.fixture
async def listeners(databases: list[Database]) -> AsyncIterator[list[PostgresNotifications]]:
    """The notifications of two processes, both of them listening."""
    made = [PostgresNotifications(database.url) for database in databases[:2]]
    for notifications in made:
        await notifications.start()
    await _hears(*made)
    yield made
    for notifications in made:
        await notifications.stop()


async def _hears(sender: PostgresNotifications, listener: PostgresNotifications) -> None:
    """Return when a notification of `sender` wakes `listener`."""

    async def woken() -> bool:
        waiter = listener.subscribe(OUTBOX)
        await sender.notify(OUTBOX)
        done, _ = await asyncio.wait([waiter], timeout=0.2)
        listener.leave(OUTBOX, waiter)
        return bool(done)

    await eventually(woken, "a notification of one process wakes the other")


async def _end_other_connections(database: Database) -> int:
    """Let the server end every connection to this database but the one that asks; how many they were."""
    async with database.write() as connection:
        killed = await connection.execute(
            text(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        )
        return int(killed.scalar_one())


async def test_a_lost_connection_is_made_again(
    listeners: list[PostgresNotifications], databases: list[Database]
) -> None:
    assert await _end_other_connections(databases[0]) >= len(listeners)
    await _hears(listeners[0], listeners[1])
    await _hears(listeners[1], listeners[0])


async def test_a_notification_sent_while_its_connection_is_lost_does_not_fail(
    listeners: list[PostgresNotifications], databases: list[Database]
) -> None:
    for _ in range(20):
        ending = asyncio.create_task(_end_other_connections(databases[0]))
        while not ending.done():
            await listeners[0].notify(OUTBOX)
            await asyncio.sleep(0)  # a notification that finds no connection waits for nothing
        for _ in range(50):  # the server's last word and the end of the connection arrive one after the other
            await listeners[0].notify(OUTBOX)
            await asyncio.sleep(0)
        await _hears(listeners[0], listeners[0])


async def test_a_process_that_stops_does_not_break_its_last_notifications(
    listeners: list[PostgresNotifications],
) -> None:
    sending = [asyncio.create_task(listeners[0].notify(OUTBOX)) for _ in range(20)]
    await asyncio.sleep(0)  # they are under way now
    await listeners[0].stop()
    await asyncio.gather(*sending)
