"""Letting the database's time pass for those who wait."""

from datetime import timedelta

from sqlalchemy import select, update

from models.columns import table_of
from models.repositories import database_time
from models.repositories.queue import contacts
from models.repositories.queue.contacts import Contact
from models.tables.queue import QueueEntry
from models.tables.runners import Runner
from tests.models.world import World, job

queue = table_of(QueueEntry)
runner = table_of(Runner)


async def wait(world: World, seconds: float) -> None:
    """What began to wait by the database's clock did so that much earlier; so did the last contacts of runners."""
    earlier = timedelta(seconds=seconds)
    async with world.database.write() as connection:
        await connection.execute(update(queue).values(since=queue.c.since - seconds))
        for column in (job.c.canceling_at, runner.c.contacted_at):
            table = column.table
            rows = await connection.execute(select(table.c.id, column).where(column.is_not(None)))
            for key, moment in rows.all():
                values = {column.name: moment - earlier}
                await connection.execute(update(table).where(table.c.id == key).values(**values))


async def call(world: World, runner_id: int) -> None:
    """A runner asks for work, at this moment of the database."""
    async with world.database.write() as connection:
        called = Contact(runner_id, "s_1", {}, "")
        await contacts.write(connection, [called], await database_time.moment(connection))
