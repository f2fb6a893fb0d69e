"""Who has the slot that a job waits for, and who gets it sooner."""

from collections.abc import Mapping

import pytest

from domain.pipelines.resource_groups import ProcessMode
from domain.pipelines.status import Status
from domain.why.known import OtherJob, SlotWait
from models.columns import table_of
from models.repositories.pipelines import resource_groups, slot_waits
from models.tables.environments import ResourceGroup
from tests.models.world import World, job

DEPLOY = "deploy: {script: x, resource_group: live}\n"
LATER = "build: {stage: build, script: x}\ndeploy: {stage: deploy, script: x, resource_group: live}\n"

group = table_of(ResourceGroup)


async def looked(world: World) -> Mapping[int, SlotWait]:
    (row,) = await world.rows(group)
    async with world.database.read() as connection:
        return await slot_waits.of_groups(connection, [row.id])


async def take(world: World, job_id: int) -> None:
    async with world.database.write() as connection:
        assert await resource_groups.take(connection, [job_id]) == (job_id,)


async def set_mode(world: World, mode: ProcessMode) -> None:
    (row,) = await world.rows(group)
    async with world.database.write() as connection:
        await resource_groups.set_mode(connection, row.id, mode, world.now())


async def deploys(world: World) -> list[int]:
    return [row.id for row in await world.rows(job, name="deploy")]


async def test_nobody_waits_for_no_group(world: World) -> None:
    async with world.database.read() as connection:
        assert await slot_waits.of_groups(connection, []) == {}


async def test_the_holder_is_named_and_those_before_are_counted(world: World) -> None:
    pipelines = [await world.begin(DEPLOY) for _ in range(3)]
    first, second, third = await deploys(world)
    free = await looked(world)
    assert free[second] == SlotWait("live", "unordered", before=1, waiting=3)
    await take(world, first)
    await world.settle(pipelines[0])
    holder = OtherJob(first, "deploy", Status.PENDING, pipelines[0])
    assert await looked(world) == {
        second: SlotWait("live", "unordered", holder, before=0, waiting=2),
        third: SlotWait("live", "unordered", holder, before=1, waiting=2),
    }
    await world.end(await world.take())
    assert (await looked(world))[third].holder is None


@pytest.mark.parametrize(
    ("mode", "before"),
    [
        (ProcessMode.OLDEST_FIRST, [0, 1, 2]),
        (ProcessMode.NEWEST_FIRST, [2, 1, 0]),
        (ProcessMode.NEWEST_READY_FIRST, [2, 1, 0]),
    ],
)
async def test_the_order_is_that_of_the_group(world: World, mode: ProcessMode, before: list[int]) -> None:
    for _ in range(3):
        await world.begin(DEPLOY)
    await set_mode(world, mode)
    found = await looked(world)
    assert [found[key].before for key in await deploys(world)] == before


async def test_a_slot_may_be_kept_for_a_job_that_is_not_ready(world: World) -> None:
    older = await world.begin(LATER)
    await world.begin(DEPLOY)
    await set_mode(world, ProcessMode.OLDEST_FIRST)
    coming, ready = await deploys(world)
    kept = OtherJob(coming, "deploy", Status.CREATED, older)
    assert await looked(world) == {ready: SlotWait("live", "oldest_first", None, kept, 1, 1)}
