"""How attempts end."""

import pytest

from domain.messages import Command
from domain.pipelines.status import Status
from models.columns import table_of
from models.tables.logs import Trace
from models.tables.queue import Lease, QueueEntry
from tests.models.world import World, job

lease = table_of(Lease)
queue_entry = table_of(QueueEntry)
trace = table_of(Trace)

ONE = "one: {script: x}\n"


@pytest.mark.parametrize("status", [Status.SUCCESS, Status.FAILED, Status.CANCELED])
async def test_a_verdict_ends_the_job_and_everything_about_the_hand_out(world: World, status: Status) -> None:
    await world.begin(ONE)
    taken = await world.take()
    assert await world.end(taken, status, hand_out=1) == [taken]
    row = await world.row(job, id=taken)
    assert (row.status, row.folded) == (status, False)
    assert row.finished_at > row.started_at
    assert list(await world.rows(lease)) == []
    assert (await world.row(trace, job_id=taken)).frozen is True


async def test_a_verdict_is_fenced_by_its_hand_out(world: World) -> None:
    pipeline_id = await world.begin(ONE)
    taken = await world.take()
    assert await world.end(taken, hand_out=2) == []
    assert await world.end(taken, hand_out=0) == []
    assert await world.statuses(pipeline_id) == {"one": "running"}
    assert list(await world.outbox(pipeline_id, "outcome")) == []
    assert await world.end(taken, hand_out=1) == [taken]


async def test_the_first_verdict_is_final(world: World) -> None:
    pipeline_id = await world.begin(ONE)
    taken = await world.take()
    assert await world.end(taken, Status.FAILED, reason="runner_lost") == [taken]
    assert await world.end(taken, Status.SUCCESS, hand_out=1) == []
    assert await world.statuses(pipeline_id) == {"one": "failed"}
    assert len(await world.outbox(pipeline_id, "outcome")) == 1


async def test_a_pending_job_can_end_without_a_runner(world: World) -> None:
    pipeline_id = await world.begin(ONE)
    (row,) = await world.rows(queue_entry)
    assert await world.end(row.job_id, Status.FAILED, reason="stuck_or_timeout_failure") == [row.job_id]
    assert list(await world.rows(queue_entry)) == []
    await world.settle(pipeline_id)
    assert await world.status(pipeline_id) == "failed"


@pytest.mark.parametrize(("code", "allowed", "status"), [(42, True, "success"), (1, False, "failed")])
async def test_the_exit_code_decides_whether_a_failure_is_allowed(
    world: World, code: int, allowed: bool, status: str
) -> None:
    pipeline_id = await world.begin("one: {script: x, allow_failure: {exit_codes: [42, 137]}}\n")
    taken = await world.take()
    await world.end(taken, Status.FAILED, exit_code=code)
    row = await world.row(job, id=taken)
    assert (row.allow_failure, row.exit_code) == (allowed, code)
    await world.settle(pipeline_id)
    assert await world.status(pipeline_id) == status


async def test_a_canceling_job_is_not_allowed_to_fail_by_its_exit_code(world: World) -> None:
    pipeline_id = await world.begin("""
        stages: [build, ship]
        probe: {stage: build, script: x, allow_failure: {exit_codes: 42}}
        ship: {stage: ship, script: y}
    """)
    taken = await world.take(cancel_gracefully=True)
    await world.settle(pipeline_id, Command("cancel_job", "k", taken))
    await world.end(taken, Status.FAILED, exit_code=42, hand_out=1)
    assert (await world.row(job, id=taken)).allow_failure is False
    await world.settle(pipeline_id)
    assert await world.statuses(pipeline_id) == {"probe": "canceled", "ship": "skipped"}
    assert await world.status(pipeline_id) == "canceled"


async def test_a_job_that_is_being_stopped_ends_as_canceled_whatever_its_runner_says(world: World) -> None:
    pipeline_id = await world.begin(ONE)
    taken = await world.take(cancel_gracefully=True)
    await world.settle(pipeline_id, Command("cancel_job", "k", taken))
    assert await world.statuses(pipeline_id) == {"one": "canceling"}
    await world.end(taken, Status.SUCCESS, hand_out=1)
    await world.settle(pipeline_id)
    assert await world.statuses(pipeline_id) == {"one": "canceled"}
    assert await world.status(pipeline_id) == "canceled"
