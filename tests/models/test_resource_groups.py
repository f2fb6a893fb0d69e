"""Resource groups in SQL: one holder, whatever happens at the same moment."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest
from sqlalchemy import delete, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.errors import NotFound
from domain.messages import Command
from domain.pipelines.resource_groups import Candidate, ProcessMode, choose, in_order
from domain.pipelines.status import Status
from models.columns import table_of
from models.repositories.paging import every_of
from models.repositories.pipelines import outbox, resource_groups
from models.repositories.pipelines.cancellation import cancel_jobs
from models.repositories.pipelines.resource_groups import forget, holds, situation, take
from models.tables.environments import ResourceGroup
from models.tables.outbox import Outbox
from tests.models.world import World, job
from tests.waiting import eventually

group = table_of(ResourceGroup)
outbox_table = table_of(Outbox)

DEPLOY = "deploy: {script: x, resource_group: production}\n"
WAITING = Status.WAITING_FOR_RESOURCE
COMING = frozenset({ProcessMode.OLDEST_FIRST, ProcessMode.NEWEST_FIRST})


async def ensure(world: World, *keys: str, project_id: int | None = None) -> dict[str, int]:
    """The ids of groups, in a transaction of its own."""
    async with world.database.write() as connection:
        return await resource_groups.ensure(connection, project_id or world.project_id, keys, world.now())


async def deploy(world: World, status: Status = WAITING) -> int:
    """The job of a new pipeline, which is in the group `production` in this state; its id."""
    pipeline_id = await world.create(DEPLOY)
    job_id: int = (await world.row(job, pipeline_id=pipeline_id)).id
    found = await ensure(world, "production")
    async with world.database.write() as connection:
        values = {"resource_group_id": found["production"], "status": status}
        await connection.execute(update(job).where(job.c.id == job_id).values(**values))
    return job_id


async def taking(world: World, *job_ids: int) -> tuple[int, ...]:
    """Take, in a transaction of its own."""
    async with world.database.write() as connection:
        return await take(connection, job_ids)


async def become(world: World, job_id: int, status: Status) -> None:
    """The job gets this state, without any effect on others."""
    async with world.database.write() as connection:
        await connection.execute(update(job).where(job.c.id == job_id).values(status=status))


async def holder(world: World) -> int | None:
    """What the row of the group says."""
    found: int | None = (await world.row(group, key="production")).holder_id
    return found


async def seen(world: World) -> resource_groups.Situation:
    """What the group's workflow would read."""
    group_id = (await world.row(group, key="production")).id
    async with world.database.read() as connection:
        found = await situation(connection, group_id)
    assert found is not None
    return found


async def turn(world: World) -> int | None:
    """The job that would be chosen now."""
    now = await seen(world)
    chosen = choose(now.mode, now.is_free, now.candidates)
    return None if chosen is None else chosen.job_id


async def blocked(world: World, work: Callable[[AsyncConnection], Awaitable[object]]) -> "asyncio.Task[object]":
    """Begin `work` in a transaction of its own; returns when it waits for the transaction that is open already."""

    async def working() -> object:
        async with world.database.write() as connection:
            return await work(connection)

    task = asyncio.create_task(working())

    async def waits() -> bool:
        assert not task.done(), "it did not wait"
        if world.database.is_sqlite:
            return True  # one writer: it waits for its turn
        async with world.database.read() as connection:
            query = (
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
            )
            return bool((await connection.execute(text(query))).scalar())

    await eventually(waits, "the second transaction waits for the first one")
    return task


async def test_groups_are_made_once_for_each_project(world: World) -> None:
    first = await ensure(world, "staging", "production", "staging")
    again = await ensure(world, "production", "review/7")
    assert set(first) == {"staging", "production"}
    assert again["production"] == first["production"]
    assert await ensure(world) == {}
    rows = await world.rows(group)
    assert {row.key: row.process_mode for row in rows} == dict.fromkeys(
        ["staging", "production", "review/7"], "unordered"
    )
    assert {row.holder_id for row in rows} == {None}


async def test_two_pipelines_that_make_the_same_group_get_the_same_one(world: World) -> None:
    async with world.database.write() as connection:
        first = await resource_groups.ensure(connection, world.project_id, ["b", "a"], world.now())
        second = await blocked(
            world, lambda other: resource_groups.ensure(other, world.project_id, ["a", "b"], world.now())
        )
    assert await second == first


async def test_the_slot_goes_to_one_and_stays_with_him_until_his_row_is_complete(world: World) -> None:
    one, two = await deploy(world), await deploy(world)
    assert await taking(world, one) == (one,)
    assert await taking(world, one) == (one,), "taking again is no second time"
    for status in (Status.PENDING, Status.RUNNING, Status.PENDING, Status.RUNNING, Status.CANCELING):
        await become(world, one, status)
        assert await taking(world, two) == ()
        assert await taking(world, one) == (one,)
    await become(world, one, Status.CANCELED)
    assert await taking(world, one) == ()
    assert await taking(world, two) == (two,)
    assert await holder(world) == two


async def test_only_a_job_that_waits_for_the_slot_gets_it(world: World) -> None:
    jobs = {status: await deploy(world, status) for status in set(Status) - {WAITING}}
    assert await taking(world, *jobs.values()) == ()
    assert await holder(world) is None


async def test_of_two_jobs_of_one_decision_the_first_one_gets_the_slot(world: World) -> None:
    one, two = await deploy(world), await deploy(world)
    assert await taking(world, two, one) == (one,)
    assert await taking(world) == ()


async def test_jobs_of_several_groups_get_a_slot_each(world: World) -> None:
    one, two = await deploy(world), await deploy(world)
    other = await ensure(world, "staging")
    async with world.database.write() as connection:
        await connection.execute(update(job).where(job.c.id == two).values(resource_group_id=other["staging"]))
    assert await taking(world, one, two) == (one, two)
    async with world.database.read() as connection:
        assert await holds(connection, [two]) == (two,)


async def test_a_holder_whose_row_is_gone_holds_nothing(world: World) -> None:
    one, two = await deploy(world), await deploy(world)
    await taking(world, one)
    async with world.database.write() as connection:
        await connection.execute(delete(job).where(job.c.id == one))
    assert (await seen(world)).is_free
    assert await taking(world, two) == (two,)


async def test_two_takes_at_once_have_one_winner(world: World) -> None:
    one, two = await deploy(world), await deploy(world)
    async with world.database.write() as connection:
        assert await take(connection, [one]) == (one,)
        second = await blocked(world, lambda other: take(other, [two]))
    assert await second == ()
    assert await holder(world) == one


async def test_a_take_that_had_to_wait_sees_a_holder_that_was_made_meanwhile(world: World) -> None:
    """Red without the lock before the UPDATE: its old snapshot knows no row of the holder, so the slot looks free."""
    if world.database.is_sqlite:
        pytest.skip("SQLite has one writer: nothing is made meanwhile")
    late = await deploy(world)
    async with world.database.write() as connection:
        await connection.execute(select(group.c.id).with_for_update(key_share=True))
        second = await blocked(world, lambda other: take(other, [late]))
        young = await deploy(world)
        assert await take(connection, [young]) == (young,)
    assert await second == ()
    assert await holder(world) == young


async def test_a_waiter_that_is_canceled_between_choice_and_take_gets_nothing(world: World) -> None:
    one, two = await deploy(world), await deploy(world)
    assert await turn(world) == one
    await become(world, one, Status.CANCELED)
    assert await taking(world, one) == ()
    assert await holder(world) is None
    assert await turn(world) == two
    assert await taking(world, two) == (two,)


async def test_a_waiter_that_is_canceled_while_it_takes_keeps_nothing(world: World) -> None:
    if world.database.is_sqlite:
        pytest.skip("SQLite has one writer: nothing happens at the same moment")
    one, two = await deploy(world), await deploy(world)
    async with world.database.write() as connection:
        await connection.execute(update(job).where(job.c.id == one).values(status=Status.CANCELED))
        assert await taking(world, one) == (one,), "the cancel is not committed yet"
    assert await turn(world) == two
    assert await taking(world, two) == (two,)


@pytest.mark.parametrize("how", ["verdict", "runner lost", "cancel"])
async def test_however_the_holder_ends_the_group_is_told_and_the_slot_passes_on(world: World, how: str) -> None:
    one, two = await deploy(world), await deploy(world)
    await taking(world, one)
    await become(world, one, Status.RUNNING)
    assert await turn(world) is None
    pipeline_id = (await world.row(job, id=one)).pipeline_id
    if how == "cancel":
        async with world.database.write() as connection:
            await cancel_jobs(connection, pipeline_id, [one], world.now())
    else:
        status = Status.SUCCESS if how == "verdict" else Status.FAILED
        assert await world.end(one, status, reason="" if how == "verdict" else "runner_lost") == [one]
    (told,) = await world.outbox(pipeline_id, outbox.GROUP)
    assert told.payload == {"group": (await world.row(group)).id}
    assert await turn(world) == two
    assert await taking(world, two) == (two,)


async def test_a_holder_that_is_being_stopped_keeps_the_slot_until_it_has_stopped(world: World) -> None:
    one, two = await deploy(world), await deploy(world)
    await taking(world, one)
    async with world.database.write() as connection:
        await connection.execute(update(job).where(job.c.id == one).values(status="running", cancel_gracefully=True))
        await cancel_jobs(connection, (await world.row(job, id=one)).pipeline_id, [one], world.now())
    assert (await world.row(job, id=one)).status == Status.CANCELING
    assert await turn(world) is None
    assert await taking(world, two) == ()


async def test_a_further_attempt_belongs_to_the_group_and_waits_again(world: World) -> None:
    one, two = await deploy(world), await deploy(world)
    await taking(world, one)
    await become(world, one, Status.FAILED)
    pipeline_id = (await world.row(job, id=one)).pipeline_id
    await world.turn(pipeline_id, Command("retry_job", "again", one))
    attempt = (await world.row(job, pipeline_id=pipeline_id, retried=False)).id
    assert attempt not in {one, two}
    assert await taking(world, two) == (two,)
    await become(world, attempt, WAITING)
    assert await taking(world, attempt) == ()
    await become(world, two, Status.SUCCESS)
    assert await turn(world) == attempt
    assert await taking(world, attempt) == (attempt,)


async def test_a_job_that_lives_again_begins_without_the_slot(world: World) -> None:
    one, two = await deploy(world), await deploy(world)
    await taking(world, one)
    await become(world, one, Status.SKIPPED)
    async with world.database.write() as connection:
        await forget(connection, [one])
    await become(world, one, Status.CREATED)
    assert await holder(world) is None
    assert await taking(world, two) == (two,)


async def four(world: World) -> list[int]:
    """Four pipelines, the oldest one still to come, the newest one delayed."""
    states = (Status.CREATED, WAITING, WAITING, Status.SCHEDULED)
    return [await deploy(world, status) for status in states]


@pytest.mark.parametrize("mode", ProcessMode)
async def test_the_mode_rules_who_is_chosen_and_how_the_list_is_ordered(world: World, mode: ProcessMode) -> None:
    jobs = await four(world)
    await deploy(world, Status.MANUAL)
    row = await world.row(group, key="production")
    async with world.database.write() as connection:
        await resource_groups.set_mode(connection, row.id, mode, world.now())
    row = await world.row(group, key="production")
    async with world.database.read() as connection:
        listed = [item.id for item in await every_of(connection, resource_groups.upcoming(row))]
    now = await seen(world)
    assert now.mode is mode
    assert listed == [candidate.job_id for candidate in in_order(mode, now.candidates)]
    assert {candidate.job_id for candidate in now.candidates} == (set(jobs) if mode in COMING else set(jobs[1:3]))
    expected = {ProcessMode.UNORDERED: jobs[1], ProcessMode.NEWEST_READY_FIRST: jobs[2]}.get(mode)
    assert await turn(world) == expected


async def test_an_older_attempt_keeps_no_slot(world: World) -> None:
    one, two = await deploy(world, Status.SKIPPED), await deploy(world)
    async with world.database.write() as connection:
        await resource_groups.set_mode(connection, 1, ProcessMode.OLDEST_FIRST, world.now())
        await connection.execute(update(job).where(job.c.id == one).values(status="created", retried=True))
    assert await turn(world) == two


async def test_the_holder_that_is_not_offered_yet_is_no_candidate(world: World) -> None:
    one, two = await deploy(world), await deploy(world)
    await taking(world, one)
    now = await seen(world)
    assert not now.is_free
    assert now.candidates == (Candidate(two, (await world.row(job, id=two)).pipeline_id, WAITING),)
    row = await world.row(group)
    async with world.database.read() as connection:
        assert [item.id for item in await every_of(connection, resource_groups.current(row))] == [one]
        assert [item.id for item in await every_of(connection, resource_groups.upcoming(row))] == [two]


async def test_another_mode_is_told_to_the_group_if_somebody_waits(world: World) -> None:
    group_id = (await ensure(world, "production"))["production"]
    made = (await world.row(group)).updated_at
    async with world.database.write() as connection:
        await resource_groups.set_mode(connection, group_id, ProcessMode.OLDEST_FIRST, made + timedelta(hours=1))
    assert [row for row in await world.rows(outbox_table) if row.kind == outbox.GROUP] == []
    one = await deploy(world)
    async with world.database.write() as connection:
        await resource_groups.set_mode(connection, group_id, ProcessMode.NEWEST_FIRST, made + timedelta(hours=2))
    (told,) = await world.outbox((await world.row(job, id=one)).pipeline_id, outbox.GROUP)
    assert told.payload == {"group": group_id}
    row = await world.row(group)
    assert (row.process_mode, row.updated_at) == ("newest_first", made + timedelta(hours=2))


async def test_groups_belong_to_their_project(world: World) -> None:
    await ensure(world, "production")
    async with world.database.read() as connection:
        assert (await resource_groups.get(connection, world.project_id, "production")).key == "production"
        with pytest.raises(NotFound):
            await resource_groups.get(connection, world.project_id + 1, "production")
        with pytest.raises(NotFound):
            await resource_groups.get(connection, world.project_id, "Production")
        assert await situation(connection, 999) is None


async def test_the_groups_that_somebody_waits_for(world: World) -> None:
    job_id = await deploy(world)
    async with world.database.read() as connection:
        assert await resource_groups.waited_for(connection) == [(await world.row(group)).id]
    await become(world, job_id, Status.PENDING)
    async with world.database.read() as connection:
        assert await resource_groups.waited_for(connection) == []
