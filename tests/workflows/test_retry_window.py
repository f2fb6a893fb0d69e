"""The retry window: the workflow of a pipeline that did not succeed takes plain signals for a while, then it closes."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import WorkflowExecutionStatus, WorkflowFailureError
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory

from domain.messages import Decision
from domain.pipelines.operations import Attempt
from domain.pipelines.status import Status
from models.clock import system_clock
from models.repositories.pipelines import decisions, pipeline_removal
from tests.models.world import job, pipeline
from tests.temporal import new_namespace
from tests.waiting import eventually
from tests.workflows.command import Said, temporal
from tests.workflows.pod import Pod, running_pod
from workflows.await_job import workflow_id

PAIR = "good: {script: x}\nbad: {script: y}\n"
MIXED = PAIR + "gate: {script: z, when: manual}\n"
DELAYED = MIXED + "later: {script: z, when: delayed, start_in: 1 hour}\n"
WINDOW = 3_600.0


@pytest.fixture
async def pod(temporal: str, tmp_path: Path) -> AsyncIterator[Pod]:
    """A running pod whose failed pipelines may be retried for an hour."""
    async with running_pod(temporal, tmp_path, retry_window=WINDOW) as running:
        yield running


async def say(pod: Pod, *words: str) -> Said:
    """`temporal workflow` with these words, whatever comes of it."""
    return await temporal(pod.settings.temporal, "workflow", *words)


async def signal(pod: Pod, pipeline_id: int, name: str, **operation: Any) -> Said:
    """A plain signal, as an operator types it."""
    given = ["--input", json.dumps(operation)] if operation else []
    return await say(pod, "signal", "--workflow-id", workflow_id(pipeline_id), "--name", name, *given)


async def start(pod: Pod, pipeline_id: int, do: Any = None) -> Said:
    """What "Start Workflow Like This One" does: the same id, type and task queue, the input as it was edited."""
    known = ["--workflow-id", workflow_id(pipeline_id), "--type", "Pipeline", "--task-queue", pod.settings.queue]
    return await say(pod, "start", *known, "--input", json.dumps({"pipeline_id": pipeline_id, "do": do}))


async def failed(pod: Pod, config: str = PAIR) -> int:
    """A pipeline whose job `bad` has failed and whose workflow waits for a retry."""
    pipeline_id = await pod.create(config)
    await pod.run("good")
    await pod.run("bad", Status.FAILED)
    assert await pod.rests(pipeline_id) == "failed"
    return pipeline_id


async def open_pipeline(pod: Pod) -> int:
    """One that goes on: `later` is still to come."""
    pipeline_id = await pod.create(DELAYED)
    await pod.run("good")
    await pod.run("bad", Status.FAILED)
    await pod.until(pipeline_id, good="success", bad="failed", gate="manual", later="scheduled")

    async def is_told() -> bool:
        return not (await pod.handle(pipeline_id).describe()).raw_description.pending_activities

    await eventually(is_told, "the workflow knows how both have ended")
    return pipeline_id


async def waiting_pipeline(pod: Pod) -> int:
    """One that has failed, in its window."""
    return await failed(pod, MIXED)


async def closed_pipeline(pod: Pod) -> int:
    """One that has failed and whose workflow is closed: cancelling it in the window ends the window."""
    pipeline_id = await failed(pod, MIXED)
    assert (await say(pod, "cancel", "--workflow-id", workflow_id(pipeline_id))).code == 0
    assert await pod.ended(pipeline_id) == "failed"
    return pipeline_id


async def id_of(pod: Pod, pipeline_id: int, name: str) -> int:
    """The latest attempt of a job."""
    return int((await pod.world.row(job, pipeline_id=pipeline_id, name=name, retried=False)).id)


async def run_of(pod: Pod, pipeline_id: int) -> str:
    """The id of the workflow's latest run."""
    run = await pod.pipelines.runs.latest(pipeline_id)
    assert run is not None
    return run.id


ENDED = {"retry_pipeline": {"bad": "pending"}, "retry_job": {"bad": "pending"}, "play_job": {"gate": "pending"}}
CANCELED = {"cancel_job": {"gate": "canceled"}, "cancel_pipeline": {"gate": "canceled"}}
STATES: dict[str, tuple[Callable[[Pod], Awaitable[int]], dict[str, dict[str, str]]]] = {
    "open": (
        open_pipeline,
        ENDED
        | {"cancel_job": {"later": "canceled"}, "cancel_pipeline": {"later": "canceled", "gate": "canceled"}}
        | {"unschedule_job": {"later": "manual"}},
    ),
    "waiting": (waiting_pipeline, ENDED | CANCELED),
    "closed": (closed_pipeline, ENDED | CANCELED),
}
"""How a pipeline comes into the state, and what each command does to its jobs there; nothing where it is missing."""
ABOUT = {"retry_job": "bad", "play_job": "gate"}


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize(
    "name", ["retry_pipeline", "retry_job", "play_job", "cancel_pipeline", "cancel_job", "unschedule_job"]
)
async def test_every_command_in_every_state(pod: Pod, state: str, name: str) -> None:
    """18 of them, a second or two each: what an operator may rely on, by the command that they type."""
    make, effects = STATES[state]
    pipeline_id = await make(pod)
    whom = ABOUT.get(name, "later" if state == "open" else "gate")
    operation = {} if name.endswith("_pipeline") else {"job_id": await id_of(pod, pipeline_id, whom)}
    before = await pod.world.statuses(pipeline_id)
    said = await signal(pod, pipeline_id, name, **operation)
    if state == "closed":
        assert (said.code, "workflow execution already completed" in said.text) == (1, True)
        assert await pod.world.statuses(pipeline_id) == before
        said = await start(pod, pipeline_id, {"name": name, **operation})
    assert said.code == 0, said.text
    expected = effects.get(name)
    if expected is None:
        await _is_told(pod, pipeline_id, "only a scheduled job can be unscheduled")
        assert await pod.world.statuses(pipeline_id) == before
    else:
        await pod.until(pipeline_id, **expected)


async def _is_told(pod: Pod, pipeline_id: int, text: str) -> None:
    async def told() -> bool:
        return text in await pod.details(pipeline_id)

    await eventually(told, f"the details say: {text}")


async def test_a_signal_retries_a_failed_pipeline_and_it_completes(pod: Pod) -> None:
    pipeline_id = await failed(pod)
    run = await run_of(pod, pipeline_id)
    assert (await signal(pod, pipeline_id, "retry_pipeline")).code == 0
    await pod.run("bad")
    assert await pod.ended(pipeline_id) == "success"
    assert await pod.handle(pipeline_id).result() == "success"
    assert await run_of(pod, pipeline_id) == run
    assert await pod.details(pipeline_id) == ""


async def test_the_details_say_what_failed_what_may_be_sent_and_until_when(pod: Pod) -> None:
    pipeline_id = await failed(pod, MIXED)
    bad, gate = await id_of(pod, pipeline_id, "bad"), await id_of(pod, pipeline_id, "gate")
    ended = (await pod.world.row(pipeline, id=pipeline_id)).finished_at
    details = await pod.details(pipeline_id)
    assert f"Pipeline {pipeline_id} failed: test: bad (job {bad})." in details
    assert f"Until {ended.replace(hour=(ended.hour + 1) % 24):%H:%M:%S} UTC"[6:] in details
    assert "`retry_pipeline`" in details
    assert f'`{{"job_id": {bad}}}` is bad' in details
    assert f'`{{"job_id": {gate}}}` is gate' in details
    assert f'`{{"pipeline_id": {pipeline_id}, "do": {{"name": "retry_pipeline"}}}}`' in details


async def test_an_update_needs_no_further_run(pod: Pod) -> None:
    """What the API does: update-with-start."""
    pipeline_id = await failed(pod)
    run = await run_of(pod, pipeline_id)
    response = await pod.ask(pipeline_id, "retry_job", await id_of(pod, pipeline_id, "bad"))
    await pod.at_work(pipeline_id)
    assert await pod.run("bad", Status.FAILED) in response.jobs
    assert await pod.rests(pipeline_id) == "failed"
    assert await run_of(pod, pipeline_id) == run


async def test_a_canceled_pipeline_has_a_window_and_closes_as_canceled(temporal: str, tmp_path: Path) -> None:
    async with running_pod(temporal, tmp_path, retry_window=2.0) as pod:
        pipeline_id = await pod.create(PAIR)
        await pod.take("good")
        assert (await signal(pod, pipeline_id, "cancel_pipeline", reason="not today")).code == 0
        assert await pod.rests(pipeline_id) == "canceled"
        assert await pod.ended(pipeline_id) == "canceled"


async def test_a_failed_pipeline_closes_as_failed_without_alarm(temporal: str, tmp_path: Path) -> None:
    async with running_pod(temporal, tmp_path, retry_window=1.0) as pod:
        pipeline_id = await failed(pod)
        assert await pod.ended(pipeline_id) == "failed"
        with pytest.raises(WorkflowFailureError) as failure:
            await pod.handle(pipeline_id).result()
        cause = failure.value.cause
        assert isinstance(cause, ApplicationError)
        assert (cause.type, cause.category) == ("PipelineFailed", ApplicationErrorCategory.BENIGN)
        assert "test: bad (job " in cause.message
        # The window counts from the end that SQL has: whoever starts it later waits no second time.
        assert (await start(pod, pipeline_id)).code == 0
        assert await pod.ended(pipeline_id) == "failed"


async def test_a_pipeline_that_succeeded_has_no_window(pod: Pod) -> None:
    pipeline_id = await pod.create(PAIR)
    await pod.run("good")
    await pod.run("bad")
    assert await pod.ended(pipeline_id) == "success"


async def test_a_window_outlives_its_worker(pod: Pod) -> None:
    pipeline_id = await failed(pod)
    await pod.stop_worker()
    assert (await signal(pod, pipeline_id, "retry_pipeline")).code == 0
    await pod.start_worker()
    await pod.run("bad")
    assert await pod.ended(pipeline_id) == "success"


async def test_after_all_is_lost_a_command_starts_the_pipeline_again(pod: Pod) -> None:
    """SQL does not rebuild a window: nothing is left to do there. A start with a command works as before."""
    pipeline_id = await failed(pod)
    await pod.close()
    await pod.join(await new_namespace(pod.settings.temporal))
    await pod.start()
    assert await pod.reconcile(pipeline_id) == []
    assert await pod.state(pipeline_id) is None
    await pod.ask(pipeline_id, "retry_pipeline")
    await pod.run("bad")
    assert await pod.ended(pipeline_id) == "success"


@pytest.mark.parametrize("point", ["FirstWorkflowTask", "LastWorkflowTask"])
async def test_a_reset_keeps_the_window(pod: Pod, point: str) -> None:
    pipeline_id = await failed(pod)
    words = ("--workflow-id", workflow_id(pipeline_id), "--type", point, "--reason", "again")
    assert (await say(pod, "reset", *words)).code == 0
    assert await pod.rests(pipeline_id) == "failed"
    assert (await signal(pod, pipeline_id, "retry_pipeline")).code == 0
    await pod.run("bad")
    assert await pod.ended(pipeline_id) == "success"


async def test_terminating_a_window_changes_nothing_of_the_pipeline(pod: Pod) -> None:
    pipeline_id = await failed(pod)
    before = [tuple(row) for row in await pod.world.rows(job, pipeline_id=pipeline_id)]
    await pod.handle(pipeline_id).terminate("enough")
    assert await pod.reconcile(pipeline_id) == []
    assert [tuple(row) for row in await pod.world.rows(job, pipeline_id=pipeline_id)] == before
    assert await pod.world.status(pipeline_id) == "failed"


async def test_the_reconciler_leaves_a_window_alone(pod: Pod) -> None:
    other, pipeline_id = await pod.create("one: {script: x, when: manual, allow_failure: false}\n"), await failed(pod)

    async def listed() -> bool:
        query = f'WorkflowId = "{workflow_id(pipeline_id)}" AND CiStatus = "failed" AND ExecutionStatus = "Running"'
        return (await pod.client.count_workflows(query)).count == 1

    await eventually(listed, "visibility knows of the window")
    assert pipeline_id not in await pod.pipelines.runs.at_work()
    assert await pod.reconcile(other) == []
    events = (await pod.handle(pipeline_id).fetch_history()).events
    assert not any(event.HasField("workflow_execution_signaled_event_attributes") for event in events)


async def test_a_pipeline_that_goes_on_in_sql_does_not_wait_for_a_retry(pod: Pod) -> None:
    """Another run has made a new attempt: one that somebody has forgotten, or of a database that was restored."""
    pipeline_id = await failed(pod)
    bad = await id_of(pod, pipeline_id, "bad")
    number = (await pod.world.row(pipeline, id=pipeline_id)).run + 1
    async with pod.world.database.write() as connection:
        await decisions.record(connection, Decision(pipeline_id, number, 1, attempts=(Attempt(bad),)), system_clock())
    assert await pod.world.status(pipeline_id) == "running"
    assert await pod.reconcile(pipeline_id) == [pipeline_id]
    await pod.run("bad")
    assert await pod.ended(pipeline_id) == "success"


async def test_a_window_holds_no_slot(pod: Pod) -> None:
    config = "deploy: {script: a, resource_group: production}\n"
    first = await pod.create(config)
    held = await pod.take("deploy")
    second = await pod.create(config)
    await pod.until(second, deploy="waiting_for_resource")
    await pod.end(held, Status.FAILED)
    assert await pod.rests(first) == "failed"
    await pod.run("deploy")
    assert await pod.ended(second) == "success"


async def test_a_removed_pipeline_says_so_and_closes(pod: Pod) -> None:
    pipeline_id = await failed(pod)
    async with pod.world.database.write() as connection:
        assert await pipeline_removal.remove_ended(connection, pipeline_id)
    assert (await signal(pod, pipeline_id, "retry_pipeline")).code == 0
    with pytest.raises(WorkflowFailureError) as failure:
        await pod.handle(pipeline_id).result()
    assert f"Pipeline {pipeline_id} does not exist" in str(failure.value.cause)


async def test_a_start_with_a_command_carries_it_out_once(pod: Pod) -> None:
    pipeline_id = await closed_pipeline(pod)
    bad = await id_of(pod, pipeline_id, "bad")
    assert (await start(pod, pipeline_id, "retry_pipeline")).code == 0
    await pod.run("bad", Status.FAILED)
    assert await pod.rests(pipeline_id) == "failed"
    words = ("--workflow-id", workflow_id(pipeline_id), "--type", "FirstWorkflowTask", "--reason", "again")
    assert (await say(pod, "reset", *words)).code == 0  # the same input: it has been obeyed
    assert await pod.rests(pipeline_id) == "failed"
    assert [row.attempt for row in await pod.world.rows(job, first_id=bad)] == [1, 2]
    await say(pod, "cancel", "--workflow-id", workflow_id(pipeline_id))
    await pod.ended(pipeline_id)
    assert (await start(pod, pipeline_id, "retry_pipeline")).code == 0  # another start: another command
    await pod.run("bad")
    assert await pod.ended(pipeline_id) == "success"


async def test_a_start_with_a_command_takes_variables_a_key_and_a_reason(pod: Pod) -> None:
    pipeline_id = await closed_pipeline(pod)
    gate = await id_of(pod, pipeline_id, "gate")
    do = {"name": "play_job", "job_id": gate, "key": "ada-1", "variables": {"COLOUR": "red"}, "reason": "because"}
    for _ in range(2):
        assert (await start(pod, pipeline_id, do)).code == 0
        await pod.run("gate") if _ == 0 else None
        await pod.rests(pipeline_id)
        await say(pod, "cancel", "--workflow-id", workflow_id(pipeline_id))
        await pod.ended(pipeline_id)
    assert (await pod.world.row(job, id=gate)).variables == [{"key": "COLOUR", "value": "red"}]
    assert [row.id for row in await pod.world.rows(job, pipeline_id=pipeline_id, name="gate")] == [gate]


@pytest.mark.parametrize(
    ("do", "why"),
    [
        ({}, "do has no name"),
        ({"name": "reconcile"}, "do does not know the text 'reconcile'; it knows cancel_pipeline"),
        ({"name": "retry_job"}, 'retry_job needs the id of a job. Write {"job_id": 42}.'),
        ({"name": "retry_pipeline", "job": 3}, "retry_pipeline does not know job"),
        ("again", "do does not know the text 'again'"),
        ([1], "do takes an object, not the list '[1]'"),
        (7, "do takes an object, not the number '7'"),
    ],
)
async def test_a_wrong_command_is_answered_where_it_was_given(pod: Pod, do: Any, why: str) -> None:
    pipeline_id = await closed_pipeline(pod)
    before = [tuple(row) for row in await pod.world.rows(job, pipeline_id=pipeline_id)]
    assert (await start(pod, pipeline_id, do)).code == 0
    with pytest.raises(WorkflowFailureError) as failure:
        await pod.handle(pipeline_id).result()
    assert why in str(failure.value.cause)
    assert [tuple(row) for row in await pod.world.rows(job, pipeline_id=pipeline_id)] == before


async def test_a_refused_command_is_told_by_the_closed_workflow(temporal: str, tmp_path: Path) -> None:
    async with running_pod(temporal, tmp_path) as pod:
        pipeline_id = await pod.create(PAIR)
        await pod.run("good")
        await pod.run("bad")
        assert await pod.ended(pipeline_id) == "success"
        assert (await start(pod, pipeline_id, "retry_pipeline")).code == 0
        assert await pod.handle(pipeline_id).result() == "success"
        await _is_told(pod, pipeline_id, f"Pipeline {pipeline_id} has no failed, canceled or skipped job to retry.")


async def test_cancelling_a_window_closes_it(pod: Pod) -> None:
    pipeline_id = await closed_pipeline(pod)
    assert await pod.state(pipeline_id) is WorkflowExecutionStatus.FAILED
