"""Two that write at the same moment, one held at a fault point: whatever the order, the rows are right in the end."""

import asyncio
from dataclasses import replace

import pytest

from domain.messages import Command, Decision
from domain.pipelines.operations import Attempt
from domain.pipelines.status import Status
from models.repositories.pipelines import cancellation, decisions
from models.repositories.queue import claims, leases
from tests.fault_point import WITHIN, FaultPoint, held_at, is_blocked, side_by_side
from tests.models.world import World, hand_out, job

ONE = "one: {script: x, retry: 1}\n"


async def nothing() -> None:
    """Where a transaction can be held."""


async def recorded_beside_a_claim(world: World, decision: Decision) -> None:
    """A claim has not committed when the decision is recorded, which must wait for it; both are over then."""
    commits = FaultPoint(nothing, behind=False)

    async def claim() -> None:
        async with world.database.write() as connection:
            assert await hand_out(connection, world.runner(), world.now()) is not None
            await commits()

    claiming = asyncio.create_task(claim())
    await asyncio.wait_for(commits.is_there.wait(), WITHIN)
    deciding = asyncio.create_task(world.record(world.numbered(decision)))
    assert await is_blocked(deciding)
    commits.may_go_on.set()
    await asyncio.wait_for(asyncio.gather(claiming, deciding), WITHIN)


async def test_a_decision_that_is_overtaken_between_its_check_and_its_last_write_changes_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both have seen that they are newer than the last one: the older run must lose all the same, with all it wrote."""
    side_by_side(world.database)
    pipeline_id = await world.begin(ONE)
    one = (await world.row(job, name="one")).id
    retry = world.numbered(Decision(pipeline_id, attempts=(Attempt(one),)))
    async with held_at(monkeypatch, decisions, "_fold", world.record(retry)) as task:
        world.run = 2
        await world.record(world.numbered(Decision(pipeline_id)))
    assert task.result().stale
    assert [row.attempt for row in await world.rows(job, first_id=one)] == [1]


async def test_a_command_that_another_run_has_answered_is_not_obeyed_again(world: World) -> None:
    """A run knows the newest answers only; the key of an old one is found when the decision is written."""
    pipeline_id = await world.begin(ONE)
    one = await world.take()
    await world.end(one, Status.FAILED)
    await world.settle(pipeline_id, Command("retry_job", "k", one))
    second = (await world.row(job, attempt=2)).id
    await world.end(await world.take(), Status.FAILED)
    await world.settle(pipeline_id)
    repeated = await world.decision(pipeline_id, Command("retry_job", "k", second))
    assert repeated is not None
    recorded = await world.record(repeated)
    assert recorded.stale
    assert [(answer.key, answer.job_id) for answer in recorded.answers] == [("k", one)]
    assert [row.attempt for row in await world.rows(job)] == [1, 2]


async def test_a_hand_out_that_nobody_took_up_lowers_no_pipeline(world: World) -> None:
    pipeline_id = await world.begin(ONE)
    taken = await world.claim()
    assert taken is not None
    async with world.database.write() as connection:
        rows = await leases.silent(connection, -1, taken_up=False)
        assert await leases.put_back(connection, rows, world.now()) == [taken[0]]
    recorded = await world.record(world.numbered(Decision(pipeline_id)))
    assert await world.statuses(pipeline_id) == {"one": "pending"}
    assert (recorded.status, await world.status(pipeline_id)) == (Status.RUNNING, "running")


async def test_a_stage_is_not_lowered_by_a_decision_that_a_claim_comes_between(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The claim has not committed when the decision counts the rows: it must wait for the stage."""
    side_by_side(world.database)
    pipeline_id = await world.create("a: {script: x}\nb: {script: y}\n")
    offer = await world.decision(pipeline_id)
    assert offer is not None
    await world.record(replace(offer, transitions=offer.transitions[:1]))

    await recorded_beside_a_claim(world, Decision(pipeline_id, transitions=offer.transitions[1:]))
    assert await world.statuses(pipeline_id) == {"a": "running", "b": "pending"}
    assert await world.stages(pipeline_id) == {"test": "running"}
    assert await world.status(pipeline_id) == "running"


async def test_a_stage_that_ran_is_not_lowered_below_a_row_that_runs(world: World) -> None:
    side_by_side(world.database)
    pipeline_id = await world.begin(ONE)
    assert await world.claim() is not None
    async with world.database.write() as connection:
        rows = await leases.silent(connection, -1, taken_up=False)
        await leases.put_back(connection, rows, world.now())
    await recorded_beside_a_claim(world, Decision(pipeline_id))
    assert await world.stages(pipeline_id) == {"test": "running"}


async def stopping_and_retried(world: World) -> tuple[int, int]:
    """A pipeline whose only job was retried, successfully, while its first attempt is being stopped."""
    pipeline_id = await world.begin("one: {script: x}\n")
    stopping = await world.take(cancel_gracefully=True)
    await world.settle(pipeline_id, Command("cancel_job", "c", stopping))
    await world.settle(pipeline_id, Command("retry_job", "r", stopping))
    await world.end(await world.take())
    await world.settle(pipeline_id)
    assert await world.statuses(pipeline_id) == {"one": "success"}
    return pipeline_id, stopping


async def test_an_attempt_that_is_being_stopped_holds_the_pipeline_although_it_was_retried(world: World) -> None:
    pipeline_id, stopping = await stopping_and_retried(world)
    assert await world.status(pipeline_id) == "canceling"
    assert [leaving.job_id for leaving in (await world.load(pipeline_id)).leaving] == [stopping]


async def test_the_pipeline_ends_when_an_attempt_that_was_retried_has_stopped(world: World) -> None:
    pipeline_id, stopping = await stopping_and_retried(world)
    await world.end(stopping, Status.FAILED)
    await world.settle(pipeline_id)
    row = await world.row(job, id=stopping)
    assert (row.status, row.folded) == ("canceled", True)
    assert await world.status(pipeline_id) == "success"


async def cancel_of_one(world: World) -> Decision:
    """The decision that cancels the one job of a pipeline, which waits for a runner; not recorded yet."""
    pipeline_id = await world.begin(ONE)
    one = (await world.row(job, name="one")).id
    cancel = await world.decision(pipeline_id, Command("cancel_job", "c", one))
    assert cancel is not None
    return cancel


async def test_a_job_that_is_being_canceled_is_passed_over_by_claims(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cancel has the job and has not taken it out of the queue yet: nobody waits for anybody."""
    side_by_side(world.database)
    cancel = await cancel_of_one(world)
    async with held_at(monkeypatch, cancellation, "dequeue", world.record(cancel)):
        assert await asyncio.wait_for(world.claim(), WITHIN) is None
    assert await world.statuses(cancel.pipeline_id) == {"one": "canceled"}


async def test_a_job_that_is_being_handed_out_is_canceled_afterwards(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The claim has the job and its place in the queue and has not committed: the cancel waits for both at once."""
    side_by_side(world.database)
    cancel = await cancel_of_one(world)
    async with held_at(monkeypatch, claims, "_open", world.claim(cancel_gracefully=True)) as claiming:
        canceling = asyncio.create_task(world.record(cancel))
        assert await is_blocked(canceling)
    assert claiming.result() == ((await world.row(job, name="one")).id, 1)
    await asyncio.wait_for(canceling, WITHIN)
    assert await world.statuses(cancel.pipeline_id) == {"one": "canceling"}
