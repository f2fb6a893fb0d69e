"""Updates and signals: play, retry, cancel."""

import pytest
from temporalio.client import WorkflowUpdateFailedError
from temporalio.exceptions import ApplicationError

from domain.messages import Operation
from domain.pipelines.status import Status
from models.repositories.pipelines import pipelines
from tests.models.world import job
from tests.waiting import eventually
from tests.workflows.pod import Pod

GATE = """
    stages: [build, ship]
    build: {stage: build, script: a}
    gate: {stage: build, script: b, when: manual, allow_failure: false}
    ship: {stage: ship, script: c}
"""
PAIR = "a: {script: x}\nb: {script: y}\n"


async def rows(pod: Pod, pipeline_id: int) -> list[tuple[object, ...]]:
    """Every attempt, column by column."""
    return [tuple(row) for row in await pod.world.rows(job, pipeline_id=pipeline_id)]


async def test_a_manual_job_waits_until_it_is_played(pod: Pod) -> None:
    pipeline_id = await pod.create(GATE)
    await pod.run("build")
    await pod.until(pipeline_id, build="success", gate="manual", ship="created")
    gate = (await pod.world.row(job, pipeline_id=pipeline_id, name="gate")).id
    answer = await pod.ask(pipeline_id, "play_job", gate, COLOUR="red")
    assert (answer.jobs, answer.refused) == ((gate,), "")
    assert (await pod.world.row(job, id=gate)).variables == [{"key": "COLOUR", "value": "red"}]
    await pod.run("gate")
    await pod.run("ship")
    assert await pod.ended(pipeline_id) == "success"


async def test_a_job_of_a_closed_pipeline_is_retried(pod: Pod) -> None:
    pipeline_id = await pod.create(GATE.replace(", when: manual", ""))
    first = await pod.take("gate")
    await pod.run("build")
    await pod.end(first, Status.FAILED)
    assert await pod.ended(pipeline_id) == "failed"
    run = (await pod.handle(pipeline_id).describe()).run_id
    (second,) = (await pod.ask(pipeline_id, "retry_job", first)).jobs
    assert await pod.take("gate") == second
    assert await pod.world.status(pipeline_id) == "running"
    await pod.end(second)
    await pod.run("ship")
    assert await pod.ended(pipeline_id) == "success"
    assert (await pod.handle(pipeline_id).describe()).run_id != run


@pytest.mark.parametrize("name", ["retry_job", "retry_pipeline"])
async def test_what_people_see_failed_is_retried_though_nobody_has_told_the_workflow(pod: Pod, name: str) -> None:
    """The end of a job is seen at once; the bell that rings in the workflow comes when the relay gets to it."""
    pipeline_id = await pod.create(PAIR)
    await pod.take("a")
    failed = await pod.take("b")
    await pod.stop_relay()
    await pod.end(failed, Status.FAILED)
    answer = await pod.ask(pipeline_id, name, failed if name == "retry_job" else None)
    assert (len(answer.jobs), answer.refused) == (1, "")
    with pytest.raises(WorkflowUpdateFailedError) as caught:
        await pod.ask(pipeline_id, "retry_job", (await pod.world.row(job, pipeline_id=pipeline_id, name="a")).id)
    assert "is running" in str(caught.value.cause)


async def test_a_retry_of_all_takes_along_what_nobody_has_told_the_workflow(pod: Pod) -> None:
    pipeline_id = await pod.create(PAIR)
    late, failed = await pod.take("a"), await pod.take("b")
    await pod.end(failed, Status.FAILED)

    async def is_told() -> bool:
        (bell,) = await pod.world.outbox(pipeline_id, "outcome")
        return bell.sent_at is not None

    await eventually(is_told, "the workflow was told of the first end")
    await pod.stop_relay()
    await pod.end(late, Status.FAILED)
    assert len((await pod.ask(pipeline_id, "retry_pipeline")).jobs) == 2


async def test_a_closed_pipeline_is_retried_as_a_whole(pod: Pod) -> None:
    pipeline_id = await pod.create(PAIR)
    await pod.run("a")
    await pod.run("b", Status.FAILED)
    assert await pod.ended(pipeline_id) == "failed"
    (again,) = (await pod.ask(pipeline_id, "retry_pipeline")).jobs
    assert await pod.run("b") == again
    assert await pod.ended(pipeline_id) == "success"


@pytest.mark.parametrize("graceful", [False, True])
async def test_a_running_pipeline_is_canceled(pod: Pod, graceful: bool) -> None:
    pipeline_id = await pod.create(GATE)
    build = await pod.take("build", cancel_gracefully=graceful)
    await pod.ask(pipeline_id, "cancel_pipeline")
    if graceful:
        await pod.until(pipeline_id, build="canceling", gate="canceled", ship="canceled")
        await pod.end(build, Status.FAILED, reason="job_canceled")
    assert await pod.ended(pipeline_id) == "canceled"
    assert set((await pod.world.statuses(pipeline_id)).values()) == {"canceled"}
    assert await pod.world.end(build) == []


async def test_nothing_starts_after_a_cancel(pod: Pod) -> None:
    """The failure is in Temporal but not folded when the cancel comes: no further attempt is made."""
    pipeline_id = await pod.create("a: {script: x, retry: 2}\nb: {script: y}\n")
    a, b = await pod.take("a"), await pod.take("b")
    await pod.stop_worker()
    await pod.end(a, Status.FAILED)

    async def rung() -> bool:
        return all(row.sent_at is not None for row in await pod.world.outbox(pipeline_id, "outcome"))

    await eventually(rung, "Temporal has the verdict")
    async with pod.world.database.read() as connection:
        facts = (await pipelines.facts_of(connection, [pipeline_id]))[pipeline_id]
    await pod.pipelines.signal(facts, "cancel_pipeline", Operation(key="stop"))
    await pod.start_worker()
    assert await pod.ended(pipeline_id) in {"canceled", "failed"}
    assert b not in [row.id for row in await pod.world.rows(job, pipeline_id=pipeline_id, status="running")]
    assert await pod.world.claim() is None


async def test_an_update_meets_a_verdict_that_temporal_holds_and_nobody_folded(pod: Pod) -> None:
    """Job `a` has ended, `b` runs: nothing follows from that yet, so the verdict waits. It counts all the same."""
    pipeline_id = await pod.create(PAIR)
    a, b = await pod.take("a"), await pod.take("b")
    await pod.end(a, Status.FAILED)

    async def rung() -> bool:
        return all(row.sent_at is not None for row in await pod.world.outbox(pipeline_id, "outcome"))

    await eventually(rung, "Temporal has the verdict")
    assert (await pod.world.row(job, id=a)).folded is False
    (again,) = (await pod.ask(pipeline_id, "retry_job", a)).jobs
    assert (await pod.world.row(job, id=a)).folded is True
    await pod.end(b)
    assert await pod.run("a") == again
    assert await pod.ended(pipeline_id) == "success"


async def test_a_refused_update_changes_nothing(pod: Pod) -> None:
    pipeline_id = await pod.create(GATE)
    build = await pod.take("build")
    before = await rows(pod, pipeline_id)
    for name, job_id, why in (
        ("retry_job", build, "only a finished job can be retried"),
        ("retry_pipeline", None, "no failed, canceled or skipped job"),
        ("cancel_job", 77, "not the latest attempt of any job"),
    ):
        with pytest.raises(WorkflowUpdateFailedError) as raised:
            await pod.ask(pipeline_id, name, job_id)
        assert isinstance(raised.value.cause, ApplicationError)
        assert raised.value.cause.type == "Refused"
        assert why in str(raised.value.cause)
    assert await rows(pod, pipeline_id) == before
    await pod.end(build, Status.FAILED)
    await pod.until(pipeline_id, build="failed")


async def test_an_update_of_the_wrong_shape_never_enters_the_history(pod: Pod) -> None:
    pipeline_id = await pod.create(PAIR)
    await pod.take("b")
    for name, job_id, why in (("play_job", None, "needs the id of a job"), ("cancel_pipeline", 1, "leave job_id out")):
        with pytest.raises(WorkflowUpdateFailedError) as raised:
            await pod.ask(pipeline_id, name, job_id)
        assert why in str(raised.value.cause)
    events = (await pod.handle(pipeline_id).fetch_history()).events
    assert not any(event.HasField("workflow_execution_update_accepted_event_attributes") for event in events)


async def test_a_repeated_command_gets_the_same_answer_even_from_a_later_run(pod: Pod) -> None:
    pipeline_id = await pod.create(PAIR)
    a = await pod.run("a", Status.FAILED)
    await pod.run("b")
    await pod.ended(pipeline_id)
    first = await pod.ask(pipeline_id, "retry_job", a, key="the same")
    assert await pod.ask(pipeline_id, "retry_job", a, key="the same") == first
    await pod.run("a")
    assert await pod.ended(pipeline_id) == "success"
    assert await pod.ask(pipeline_id, "retry_job", a, key="the same") == first
    assert await pod.ended(pipeline_id) == "success"
    assert [row.attempt for row in await pod.world.rows(job, first_id=a)] == [1, 2]


async def test_a_repeated_refusal_is_refused_again(pod: Pod) -> None:
    pipeline_id = await pod.create(PAIR)
    a = await pod.take("a")
    said = set()
    for _ in range(2):
        with pytest.raises(WorkflowUpdateFailedError) as raised:
            await pod.ask(pipeline_id, "retry_job", a, key="no")
        said.add(str(raised.value.cause))
    assert len(said) == 1
    assert "only a finished job can be retried" in said.pop()


async def test_a_signal_carries_the_same_command(pod: Pod) -> None:
    pipeline_id = await pod.create(PAIR)
    await pod.run("a")
    b = await pod.run("b", Status.FAILED)
    await pod.ended(pipeline_id)
    async with pod.world.database.read() as connection:
        facts = (await pipelines.facts_of(connection, [pipeline_id]))[pipeline_id]
    for _ in range(2):
        await pod.pipelines.signal(facts, "retry_job", Operation("once", b))
    await pod.run("b")
    assert await pod.ended(pipeline_id) == "success"
    assert len(await pod.world.rows(job, first_id=b)) == 2
