"""Every rule about stored pipelines finds what breaks it, and nothing in what the product writes."""

import random
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

import pytest
from sqlalchemy import text

from bench.growth.rows import multiply
from domain.messages import Command
from domain.pipelines.invariants import Limits, Rule
from domain.pipelines.status import Status
from models.repositories.pipelines import invariants
from models.session import Database
from tests.models.database import migrated
from tests.models.world import World, job

CONFIG = """
    stages: [build, test]
    build: {stage: build, script: x, allow_failure: true}
    other: {stage: build, script: x}
    hand: {stage: build, script: x, when: manual}
    alone: {stage: build, script: x, resource_group: one}
    spare: {stage: build, script: x}
    down: {stage: build, trigger: acme/other, needs: []}
    test: {stage: test, script: x}
"""


async def found(world: World, *, at_rest: bool = False, **limits: float) -> set[Rule]:
    """The rules that do not hold."""
    async with world.database.read() as connection:
        broken = await invariants.broken(connection, world.now(), Limits(**limits), at_rest=at_rest)
    return {one.rule for one in broken}


async def write(world: World, statement: str) -> None:
    """Change rows behind everybody's back."""
    async with world.database.write() as connection:
        await connection.execute(text(statement))


BREAKS: Final[Mapping[Rule, str]] = {
    Rule.STAGE_STATUS: ("UPDATE stage SET status = 'success' WHERE name = 'build'"),
    Rule.PIPELINE_STATUS: ("UPDATE pipeline SET status = 'manual'"),
    Rule.FINISHED_AT: ("UPDATE pipeline SET finished_at = created_at"),
    Rule.RUNNING_WITHOUT_LEASE: ("DELETE FROM lease"),
    Rule.LEASE_WITHOUT_JOB: (
        "INSERT INTO lease (job_id, hand_out, taken_up, contact, since, request_id)"
        " SELECT id, 1, false, 0, 0, '' FROM job WHERE name = 'hand'"
    ),
    Rule.PENDING_WITHOUT_QUEUE: ("DELETE FROM queue_entry"),
    Rule.QUEUE_WITHOUT_JOB: (
        "INSERT INTO queue_entry (job_id, demand_id, since) SELECT id, demand_id, 0 FROM job WHERE name = 'hand'"
    ),
    Rule.BRIDGE_WITHOUT_PIPELINE: ("DELETE FROM outbox WHERE kind = 'bridge'"),
    Rule.VERDICT_WITHOUT_BELL: ("UPDATE job SET folded = false WHERE name = 'hand'"),
    Rule.BELL_WITHOUT_VERDICT: (
        "INSERT INTO outbox (kind, pipeline_id, job_id, payload, attempts, error, created_at, not_before)"
        " SELECT 'outcome', pipeline_id, id, '{}', 0, '', created_at, created_at FROM job WHERE name = 'hand'"
    ),
    Rule.WAITER_WITHOUT_HOLDER: ("UPDATE resource_group SET holder_id = NULL"),
    Rule.LOG_OPEN: ("UPDATE trace SET frozen = false, size = 1"),
    Rule.ATTEMPTS: ("UPDATE job SET retried = true WHERE name = 'test'"),
}
"""What breaks which rule, of the pipeline that `played` makes."""


async def played(world: World) -> int:
    """A pipeline of which one job has ended, one runs, and others wait for a runner, a person and a slot."""
    pipeline_id = await world.begin(CONFIG)
    await world.end(await world.take(), Status.FAILED, reason="script_failure")
    await world.settle(pipeline_id)
    await world.take()
    return pipeline_id


async def test_what_the_product_writes_breaks_no_rule(world: World) -> None:
    pipeline_id = await played(world)
    assert await found(world) <= {Rule.WAITER_WITHOUT_HOLDER}  # nobody has told the group to look
    await world.settle(pipeline_id, Command("cancel_pipeline", "k"))
    assert await found(world, at_rest=True) == set()


@pytest.mark.parametrize("rule", sorted(BREAKS))
async def test_what_breaks_a_rule_is_found(world: World, rule: Rule) -> None:
    await played(world)
    before = await found(world) - {Rule.WAITER_WITHOUT_HOLDER}
    assert rule not in before
    await write(world, BREAKS[rule])
    assert rule in await found(world)


async def test_a_verdict_may_be_on_its_way_for_a_time_and_not_at_rest(world: World) -> None:
    pipeline_id = await world.begin("one: {script: x}")
    await world.end(await world.take())
    assert await found(world) == set()
    assert await found(world, at_rest=True) == {Rule.VERDICT_UNFOLDED, Rule.STAGE_STATUS, Rule.PIPELINE_STATUS}
    world.seconds += 200
    assert await found(world) == {Rule.VERDICT_UNFOLDED}
    await world.settle(pipeline_id)
    assert await found(world, at_rest=True) == set()


async def test_a_row_of_the_outbox_may_be_on_its_way_for_a_time(world: World) -> None:
    await world.begin("one: {script: x}")
    assert await found(world) == set()
    world.seconds += int(timedelta(minutes=11).total_seconds())
    assert await found(world) == {Rule.OUTBOX_OLD}
    assert await found(world, outbox=3600) == set()


async def test_only_the_pipeline_that_is_asked_for_is_looked_at(world: World) -> None:
    first, second = await played(world), await world.begin("one: {script: x}")
    await write(world, f"UPDATE pipeline SET status = 'success' WHERE id = {second}")
    async with world.database.read() as connection:
        of_first = await invariants.broken(connection, world.now(), pipeline_id=first)
        of_second = await invariants.broken(connection, world.now(), pipeline_id=second)
    assert {one.rule for one in of_first} <= {Rule.WAITER_WITHOUT_HOLDER}
    assert [one.sentence for one in of_second if one.rule is Rule.PIPELINE_STATUS] == [
        f"pipeline {second} is stored as success; its jobs fold into pending"
    ]
    assert {row.pipeline_id for row in await world.rows(job)} == {first, second}


DAMAGE: Final = (
    "UPDATE job SET status = '{status}' WHERE id = {job}",
    "UPDATE job SET folded = false WHERE id = {job}",
    "UPDATE job SET retried = true WHERE id = {job}",
    "UPDATE job SET allow_failure = true, status = 'failed' WHERE id = {job}",
    "UPDATE job SET first_id = first_id + 1, attempt = 7 WHERE id = {job}",
    "UPDATE job SET stage_position = 1 WHERE id = {job}",
    "UPDATE stage SET status = '{status}' WHERE id = (SELECT stage_id FROM job WHERE id = {job})",
    "UPDATE pipeline SET status = '{status}' WHERE id = (SELECT pipeline_id FROM job WHERE id = {job})",
    "UPDATE pipeline SET finished_at = NULL WHERE id = (SELECT pipeline_id FROM job WHERE id = {job})",
    "UPDATE stage SET position = position + 10 WHERE id = (SELECT stage_id FROM job WHERE id = {job})",
)


async def test_a_look_at_all_finds_what_looks_at_each_find(database_url: str) -> None:
    """The pass that chooses whom to look at passes over nobody, whatever is damaged."""
    chance = random.Random(38)
    async with migrated(Database(database_url)) as database:
        await multiply(database, jobs=1_500, waiting=20, projects=3)
        async with database.write() as connection:
            ids = (await connection.execute(text("SELECT id FROM job ORDER BY id"))).scalars().all()
            for number, one in enumerate(chance.sample(list(ids), 120)):
                status = chance.choice(list(Status))
                await connection.execute(text(DAMAGE[number % len(DAMAGE)].format(status=status, job=one)))
        async with database.read() as connection:
            pipelines = (await connection.execute(text("SELECT id FROM pipeline ORDER BY id"))).scalars().all()
            for at_rest in (False, True):
                now = datetime.now(UTC)
                whole = await invariants.broken(connection, now, at_rest=at_rest)
                each = [await invariants.broken(connection, now, pipeline_id=one, at_rest=at_rest) for one in pipelines]
                assert whole == sorted(one for some in each for one in some)
                assert len({one.rule for one in whole}) > 5
