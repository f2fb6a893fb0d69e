"""In a copy of another installation the pipelines of the backup stand still; those that people make there run."""

from datetime import timedelta

from domain.pods.identity import PodIdentity
from models.repositories.installation import installations, restoring
from models.repositories.pipelines import outbox, unfinished
from models.repositories.pipelines.job_rows import job
from models.repositories.queue import claims, leases, waiting_jobs
from models.rows.installation import InstallationRow
from models.session import Database
from settings import TimeLimits
from tests.models.world import World
from tests.waiting import HANGS


async def make_copy(world: World) -> InstallationRow:
    """What a restore beside the original does to the rows."""
    async with world.database.write() as connection:
        await installations.ensure(connection, PodIdentity("default", 0), world.now())
        await restoring.settle(connection, 0, (), world.now(), "the-copy")
    return await row_of(world.database)


async def row_of(database: Database) -> InstallationRow:
    """The installation."""
    async with database.read() as connection:
        row = await installations.find(connection)
    assert row is not None
    return row


async def due(world: World) -> set[int]:
    """The pipelines of which a loop would do something."""
    later = world.now() + timedelta(hours=1)
    async with world.database.write() as connection:
        kinds = (*outbox.TO_TEMPORAL, *outbox.TO_BRIDGES, *outbox.TO_PODS)
        rows = await outbox.unsent(connection, later, 100, kinds)
        found = {row.pipeline_id for row in rows} | set(await unfinished.all_after(connection, 0))
        return found | set(await unfinished.page(connection, later)) | set(await unfinished.unfolded(connection, later))


async def next_job(world: World) -> int | None:
    """The job that a runner gets."""
    async with world.database.write() as connection:
        (found,) = await claims.take(connection, [world.runner()], world.now(), is_copy=True)
        return found


async def given_up(world: World) -> set[int]:
    """Jobs whose runner is lost, or that have waited too long, after ten ticks of the lease clock without a call."""
    impatient = TimeLimits(pending_unmatched=-HANGS, pending_limit=-HANGS)
    async with world.database.write() as connection:
        for _ in range(10):
            await leases.tick(connection, 0.0)
            await leases.stand_still(connection)
        silent = await leases.silent(connection, 9, taken_up=True)
        return {row.job_id for row in silent} | {
            row.job_id for row in await waiting_jobs.overdue(connection, impatient)
        }


async def test_what_was_restored_stands_still_until_the_copy_is_promoted(world: World) -> None:
    many = "a: {script: x}\nb: {script: x, tags: [linux]}\n"
    old = await world.begin(f"{many}c: {{script: x}}")
    running = await world.take()
    await world.set_runner(tags=["linux"])
    assert old in await due(world)
    row = await make_copy(world)
    assert (row.installation_id, row.held_up_to, row.is_copy) == ("the-copy", old, True)
    assert row.restored_from not in {"", "the-copy"}
    assert await due(world) == set()
    assert await next_job(world) is None
    assert await given_up(world) == set()
    new = await world.begin(many)
    assert await due(world) == {new}
    taken = {await next_job(world) for _ in range(2)}
    assert {(await world.row(job, id=job_id)).pipeline_id for job_id in taken} == {new}
    assert await next_job(world) is None
    async with world.database.write() as connection:
        await installations.promote(connection, world.now())
    promoted = await row_of(world.database)
    assert (promoted.is_copy, promoted.restored_from) == (False, row.restored_from)
    assert promoted.restored_at is not None
    assert await due(world) == {old, new}
    assert running in await given_up(world)
    assert await next_job(world) is not None
