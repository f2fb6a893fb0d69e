"""Cancelling: one UPDATE over all live states."""

from domain.messages import Command
from domain.pipelines.status import Status
from models.columns import table_of
from models.repositories.pipelines.cancellation import cancel_jobs
from models.tables.logs import Trace
from models.tables.queue import Lease, QueueEntry
from tests.models.world import World, job

lease = table_of(Lease)
queue_entry = table_of(QueueEntry)
trace = table_of(Trace)

EVERYTHING = """
    stages: [one, two]
    held: {stage: one, script: x}
    graceful: {stage: one, script: x}
    waiting: {stage: one, script: x}
    gate: {stage: one, script: x, when: manual}
    later: {stage: one, script: x, when: delayed, start_in: 1 hour}
    next: {stage: two, script: x}
"""
CANCEL = Command("cancel_pipeline", "stop")


async def test_cancel_ends_what_no_runner_holds_and_asks_the_others_to_stop(world: World) -> None:
    pipeline_id = await world.begin(EVERYTHING)
    held = await world.take()
    graceful = await world.take(cancel_gracefully=True)
    await world.settle(pipeline_id, CANCEL)
    assert await world.statuses(pipeline_id) == {
        "held": "canceled",
        "graceful": "canceling",
        "waiting": "canceled",
        "gate": "canceled",
        "later": "canceled",
        "next": "canceled",
    }
    assert list(await world.rows(queue_entry)) == []
    assert [row.job_id for row in await world.rows(lease)] == [graceful]
    assert {row.job_id: row.frozen for row in await world.rows(trace)} == {held: True, graceful: False}
    assert (await world.row(job, name="graceful")).canceling_at is not None
    assert {row.name for row in await world.rows(job, log_incomplete=True)} == {"held"}, "its runner says no more"


async def test_jobs_that_an_activity_waits_for_get_a_bell(world: World) -> None:
    pipeline_id = await world.begin(EVERYTHING)
    held = await world.take()
    await world.turn(pipeline_id, CANCEL)
    rung = {row.job_id for row in await world.outbox(pipeline_id, "outcome")}
    assert rung == {row.id for row in await world.rows(job, folded=False)}
    names = {row.name for row in await world.rows(job) if row.id in rung}
    assert names == {"held", "graceful", "waiting"}
    assert held in rung


async def test_a_pipeline_is_not_finished_while_a_job_is_being_stopped(world: World) -> None:
    pipeline_id = await world.begin("one: {script: x}\n")
    one = await world.take(cancel_gracefully=True)
    await world.settle(pipeline_id, CANCEL)
    assert await world.status(pipeline_id) == "canceling"
    await world.end(one, Status.FAILED)
    await world.settle(pipeline_id)
    assert await world.status(pipeline_id) == "canceled"


async def test_a_failure_just_before_the_cancel_makes_no_further_attempt(world: World) -> None:
    pipeline_id = await world.begin("one: {script: x, retry: 2}\n")
    one = await world.take()
    seen = await world.load(pipeline_id)
    await world.end(one, Status.FAILED, reason="script_failure")
    decision = await world.decision(pipeline_id, CANCEL, verdicts=())
    assert decision is not None
    assert decision.cancel == (one,)
    assert seen.pipeline.jobs[0].status is Status.RUNNING
    await world.record(decision)
    (verdict,) = (await world.load(pipeline_id)).verdicts
    assert verdict.auto_retry is False
    await world.settle(pipeline_id)
    assert len(await world.rows(job)) == 1
    assert await world.status(pipeline_id) == "failed"


async def test_canceling_one_job_leaves_the_retries_of_others_alone(world: World) -> None:
    pipeline_id = await world.begin("one: {script: x, retry: 1}\ntwo: {script: y}\n")
    one, two = await world.take(), await world.take()
    await world.end(one, Status.FAILED, reason="script_failure")
    async with world.database.write() as connection:
        await cancel_jobs(connection, pipeline_id, [two], world.now())
    await world.settle(pipeline_id)
    assert await world.statuses(pipeline_id) == {"one": "pending", "two": "canceled"}


async def test_an_attempt_made_in_the_decision_of_the_cancel_is_canceled_with_it(world: World) -> None:
    pipeline_id = await world.begin("one: {script: x, retry: 2}\n")
    one = await world.take()
    await world.end(one, Status.FAILED, reason="script_failure")
    recorded = await world.turn(pipeline_id, CANCEL)
    (attempt,) = recorded.attempts
    assert (attempt.attempt, attempt.status) == (2, Status.CANCELED)
    assert recorded.status is Status.CANCELED
    await world.settle(pipeline_id)
    assert await world.claim() is None
    assert [row.status for row in await world.rows(job)] == ["failed", "canceled"]


async def test_what_has_ended_stays_as_it_is(world: World) -> None:
    pipeline_id = await world.begin("one: {script: x}\n")
    one = await world.take()
    await world.end(one)
    async with world.database.write() as connection:
        await cancel_jobs(connection, pipeline_id, [one], world.now())
    assert await world.statuses(pipeline_id) == {"one": "success"}
    assert len(await world.outbox(pipeline_id, "outcome")) == 1
