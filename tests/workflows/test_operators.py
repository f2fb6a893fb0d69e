"""Operators with nothing but the `temporal` command: each operation, each of Temporal's own buttons, each query."""

import json
from typing import Any

import pytest
from temporalio.client import WorkflowExecutionStatus

from domain.pipelines.status import Status
from models.columns import table_of
from models.tables.outbox import OperationKey
from tests.models.world import job, pipeline
from tests.waiting import eventually
from tests.workflows.command import Said, temporal
from tests.workflows.pod import Pod
from workflows.await_job import activity_id, workflow_id

GATE = """
    stages: [build, ship]
    build: {stage: build, script: a}
    gate: {stage: build, script: b, when: manual, allow_failure: false}
    ship: {stage: ship, script: c}
"""
PAIR = "a: {script: x}\nb: {script: y}\n"
SLOWLY = 60.0


async def say(pod: Pod, *words: str) -> Said:
    """A command that must succeed."""
    said = await temporal(pod.settings.temporal, *words)
    assert said.code == 0, said.text
    return said


async def update(pod: Pod, pipeline_id: int, name: str, **operation: Any) -> Said:
    """`temporal workflow update execute`, whatever comes of it."""
    words = ("workflow", "update", "execute", "--workflow-id", workflow_id(pipeline_id), "--name", name)
    return await temporal(pod.settings.temporal, *words, "--input", json.dumps(operation), "--output", "json")


async def query(pod: Pod, pipeline_id: int, name: str, *given: str) -> Any:
    """The answer of a query."""
    words = ("workflow", "query", "--workflow-id", workflow_id(pipeline_id), "--type", name, "--output", "json")
    said = await say(pod, *words, *(word for one in given for word in ("--input", one)))
    return said.json()["queryResult"][0]


def starting(pod: Pod, pipeline_id: int) -> list[str]:
    """The words with which every pipeline can be started again."""
    return [
        *("--workflow-id", workflow_id(pipeline_id), "--type", "Pipeline", "--task-queue", pod.settings.queue),
        *("--input", json.dumps({"pipeline_id": pipeline_id})),
    ]


async def id_of(pod: Pod, pipeline_id: int, name: str) -> int:
    """The latest attempt of a job."""
    return int((await pod.world.row(job, pipeline_id=pipeline_id, name=name, retried=False)).id)


async def reason_of(pod: Pod, pipeline_id: int) -> str:
    """What people read about the end of a pipeline."""
    return str((await pod.world.row(pipeline, id=pipeline_id)).status_reason)


async def failed_pair(pod: Pod) -> tuple[int, int]:
    """A pipeline that is over, and its job `b`, which has failed."""
    pipeline_id = await pod.create(PAIR)
    await pod.run("a")
    b = await pod.run("b", Status.FAILED)
    assert await pod.ended(pipeline_id) == "failed"
    return pipeline_id, b


async def attempts(pod: Pod, first: int) -> list[int]:
    """The attempts of a job, counted from 1."""
    return [row.attempt for row in await pod.world.rows(job, first_id=first)]


async def test_an_update_is_answered(pod: Pod) -> None:
    pipeline_id = await pod.create(GATE)
    await pod.run("build")
    await pod.until(pipeline_id, gate="manual")
    gate = await id_of(pod, pipeline_id, "gate")
    said = await update(pod, pipeline_id, "play_job", job_id=gate, key="ada-1", variables={"COLOUR": "red"})
    assert (said.code, said.json()["result"]["jobs"]) == (0, [gate])
    again = await update(pod, pipeline_id, "play_job", job_id=gate, key="ada-1")
    assert (again.code, again.json()["result"]["jobs"]) == (0, [gate])  # the old answer; without a key it is refused
    refused = await update(pod, pipeline_id, "play_job", job_id=gate)
    assert refused.code == 1
    assert f"Job {gate} is pending; only a manual, scheduled or finished job can be played. It waits" in refused.text
    assert (await pod.world.row(job, id=gate)).variables == [{"key": "COLOUR", "value": "red"}]
    await pod.run("gate")
    await pod.run("ship")
    assert await pod.ended(pipeline_id) == "success"


async def test_the_id_of_an_update_serves_as_its_key(pod: Pod) -> None:
    pipeline_id, b = await failed_pair(pod)
    words = [*starting(pod, pipeline_id), "--id-conflict-policy", "UseExisting", "--update-name", "retry_job"]
    words += ["--update-id", "ada-2", "--update-input", json.dumps({"job_id": b})]
    await say(pod, "workflow", "execute-update-with-start", *words)
    await pod.run("b")
    await pod.ended(pipeline_id)
    await say(pod, "workflow", "execute-update-with-start", *words)
    assert await pod.ended(pipeline_id) == "success"
    assert await attempts(pod, b) == [1, 2]


async def test_a_refusal_has_an_exit_code_and_changes_nothing(pod: Pod) -> None:
    pipeline_id = await pod.create(GATE)
    await pod.take("build")
    before = [tuple(row) for row in await pod.world.rows(job, pipeline_id=pipeline_id)]
    for name, operation, why in (
        ("retry_pipeline", {}, "no failed, canceled or skipped job to retry"),
        ("cancel_job", {"job_id": 77}, "Job 77 is not the latest attempt of any job"),
        ("unschedule_job", {"job_id": before[0][0]}, "only a scheduled job can be unscheduled"),
    ):
        said = await update(pod, pipeline_id, name, **operation)
        assert said.code == 1
        assert why in said.text
    assert [tuple(row) for row in await pod.world.rows(job, pipeline_id=pipeline_id)] == before


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ([], 'needs the id of a job. Write {"job_id": 42}.'),
        (["null"], 'needs the id of a job. Write {"job_id": 42}.'),
        (["{}"], 'needs the id of a job. Write {"job_id": 42}.'),
        (['{"job_id": "42"}'], "a whole number, not the text '42'"),
        (['{"job": 42}'], "does not know job; it knows key, job_id, variables, reason"),
        (["42"], "takes an object, not the number '42'"),
        (["{}", "{}"], "takes one object, not 2"),
    ],
)
async def test_input_of_a_wrong_shape_is_answered_with_what_to_write(pod: Pod, given: list[str], why: str) -> None:
    pipeline_id = await pod.create(PAIR)
    await pod.take("a")
    inputs = [word for one in given for word in ("--input", one)]
    words = ["--workflow-id", workflow_id(pipeline_id), "--name", "cancel_job", *inputs]
    said = await temporal(pod.settings.temporal, "workflow", "update", "execute", *words)
    assert said.code == 1
    assert why in said.text
    events = (await pod.handle(pipeline_id).fetch_history()).events
    assert not any(event.HasField("workflow_execution_update_accepted_event_attributes") for event in events)
    # As a signal nobody can be told; it does nothing, and the workflow goes on.
    await say(pod, "workflow", "signal", *words)
    await say(pod, "workflow", "signal", "--workflow-id", workflow_id(pipeline_id), "--name", "cancel_pipeline")
    assert await pod.ended(pipeline_id) == "canceled"
    assert await reason_of(pod, pipeline_id) == ""


async def test_an_update_needs_no_input_where_there_is_nothing_to_say(pod: Pod) -> None:
    for given in ([], ["--input", "null"]):
        pipeline_id = await pod.create(PAIR)
        await pod.take("a")
        name = ["--workflow-id", workflow_id(pipeline_id), "--name", "cancel_pipeline"]
        await say(pod, "workflow", "update", "execute", *name, *given)
        assert await pod.ended(pipeline_id) == "canceled"


async def test_a_cancel_may_give_a_reason(pod: Pod) -> None:
    pipeline_id = await pod.create(PAIR)
    await pod.take("a")
    assert (await update(pod, pipeline_id, "cancel_pipeline", reason="the branch is gone")).code == 0
    assert await pod.ended(pipeline_id) == "canceled"
    assert await reason_of(pod, pipeline_id) == "the branch is gone"


async def test_a_delayed_job_waits_for_a_person_instead(pod: Pod) -> None:
    pipeline_id = await pod.create("later: {script: x, when: delayed, start_in: 1 hour}\n")
    await pod.until(pipeline_id, later="scheduled")
    later = await id_of(pod, pipeline_id, "later")
    assert (await update(pod, pipeline_id, "unschedule_job", job_id=later)).code == 0
    await pod.until(pipeline_id, later="manual")


async def test_signal_with_start_reaches_a_closed_pipeline(pod: Pod) -> None:
    pipeline_id, b = await failed_pair(pod)
    words = [*starting(pod, pipeline_id), "--id-reuse-policy", "AllowDuplicate", "--signal-name", "retry_job"]
    words += ["--signal-input", json.dumps({"job_id": b, "key": "ada-3"})]
    for _ in range(2):  # the second is the same command
        await say(pod, "workflow", "signal-with-start", *words)
    await pod.run("b")
    assert await pod.ended(pipeline_id) == "success"
    assert await attempts(pod, b) == [1, 2]


@pytest.mark.slow
async def test_a_deleted_pipeline_takes_commands(pod: Pod) -> None:
    """Temporal knows nothing of it any more: retention or an operator has deleted its history."""
    pipeline_id, b = await failed_pair(pod)
    await delete(pod, pipeline_id)
    start = starting(pod, pipeline_id)
    words = [*start, "--id-conflict-policy", "UseExisting", "--update-name", "retry_job"]
    await say(pod, "workflow", "execute-update-with-start", *words, "--update-input", json.dumps({"job_id": b}))
    again = await pod.run("b", Status.FAILED)
    assert await pod.ended(pipeline_id) == "failed"
    await delete(pod, pipeline_id)
    words = [*start, "--signal-name", "retry_job", "--signal-input", json.dumps({"job_id": again})]
    await say(pod, "workflow", "signal-with-start", *words)
    await pod.run("b")
    assert await pod.ended(pipeline_id) == "success"
    assert await attempts(pod, b) == [1, 2, 3]


async def delete(pod: Pod, pipeline_id: int) -> None:
    """Delete every run of the workflow; Temporal takes its time for that."""
    await say(pod, "workflow", "delete", "--yes", "--workflow-id", workflow_id(pipeline_id))

    async def gone() -> bool:
        return await pod.state(pipeline_id) is None

    await eventually(gone, "the workflow is deleted", 90)


async def test_starting_a_closed_pipeline_changes_nothing(pod: Pod) -> None:
    pipeline_id, b = await failed_pair(pod)
    before = [tuple(row) for row in await pod.world.rows(job, pipeline_id=pipeline_id)]
    said = await temporal(pod.settings.temporal, "workflow", "execute", *starting(pod, pipeline_id), "--output", "json")
    assert (said.code, said.json()["status"]) == (1, "FAILED")
    assert f"Pipeline {pipeline_id} failed: test: b (job {b})." in said.out
    assert [tuple(row) for row in await pod.world.rows(job, pipeline_id=pipeline_id)] == before


async def test_starting_a_pipeline_with_work_left_goes_on(pod: Pod) -> None:
    pipeline_id = await pod.create(PAIR)
    a = await pod.take("a")
    await say(pod, "workflow", "terminate", "--workflow-id", workflow_id(pipeline_id))
    await say(pod, "workflow", "start", *starting(pod, pipeline_id))
    assert await pod.reconcile(pipeline_id) == []
    await pod.end(a)
    await pod.run("b")
    assert await pod.ended(pipeline_id) == "success"


@pytest.mark.parametrize("graceful", [False, True])
async def test_cancel_acts_as_cancel_pipeline(pod: Pod, graceful: bool) -> None:
    pipeline_id = await pod.create(GATE)
    build = await pod.take("build", cancel_gracefully=graceful)
    await say(pod, "workflow", "cancel", "--workflow-id", workflow_id(pipeline_id))
    if graceful:
        await pod.until(pipeline_id, build="canceling", gate="canceled", ship="canceled")
        assert await pod.state(pipeline_id) is WorkflowExecutionStatus.RUNNING
        await pod.end(build, Status.FAILED, reason="job_canceled")
    assert await pod.ended(pipeline_id) == "canceled"
    assert set((await pod.world.statuses(pipeline_id)).values()) == {"canceled"}
    assert "Canceled in Temporal" in await reason_of(pod, pipeline_id)
    assert (await pod.ask(pipeline_id, "retry_pipeline")).jobs
    await pod.take("build")


@pytest.mark.parametrize("graceful", [False, True])
async def test_terminate_is_settled_as_canceled_and_a_retry_is_not_canceled_again(pod: Pod, graceful: bool) -> None:
    pipeline_id = await pod.create(PAIR)
    a = await pod.take("a", cancel_gracefully=graceful)
    await say(pod, "workflow", "terminate", "--workflow-id", workflow_id(pipeline_id), "--reason", "enough of it")
    assert await pod.reconcile(pipeline_id) == [pipeline_id]
    await pod.until(pipeline_id, a="canceling" if graceful else "canceled", b="canceled")  # its runner is told so
    if graceful:
        await pod.end(a, Status.FAILED, reason="job_canceled")
    assert await pod.ended(pipeline_id) == "canceled"
    reason = await reason_of(pod, pipeline_id)
    assert reason.startswith("Terminated in Temporal by temporal-cli:")
    assert reason.endswith(": enough of it")
    assert len(await pod.world.rows(table_of(OperationKey), pipeline_id=pipeline_id)) == 1
    (again, _) = (await pod.ask(pipeline_id, "retry_pipeline")).jobs
    await pod.at_work(pipeline_id)
    assert await pod.reconcile(pipeline_id) == []
    assert await pod.run("a") == again
    assert await pod.reconcile(pipeline_id) == []
    await pod.run("b")
    assert await pod.ended(pipeline_id) == "success"
    assert await reason_of(pod, pipeline_id) == ""


@pytest.mark.parametrize("point", ["FirstWorkflowTask", "LastWorkflowTask"])
async def test_reset_repeats_no_finished_job(pod: Pod, point: str) -> None:
    pipeline_id = await pod.create(
        "stages: [one, two]\n"
        + "".join(
            f"{name}: {{stage: {stage}, script: x}}\n" for name, stage in (("a", "one"), ("b", "one"), ("c", "two"))
        )
    )
    await pod.run("a")
    b = await pod.take("b")
    words = ("--workflow-id", workflow_id(pipeline_id), "--type", point, "--reason", "again")
    await say(pod, "workflow", "reset", *words)
    await pod.reconcile(pipeline_id)  # the run that was left looks terminated, but it is not the latest
    await pod.end(b)
    await pod.run("c")
    assert await pod.ended(pipeline_id) == "success"
    assert [row.attempt for row in await pod.world.rows(job, pipeline_id=pipeline_id)] == [1, 1, 1]
    await say(pod, "workflow", "reset", *words)  # and once more when all is over
    assert await pod.ended(pipeline_id) == "success"
    assert [row.attempt for row in await pod.world.rows(job, pipeline_id=pipeline_id)] == [1, 1, 1]


async def test_an_activity_completed_by_hand_is_the_outcome_of_its_job(pod: Pod) -> None:
    pipeline_id = await pod.create(GATE.replace(", when: manual", ""))
    build, gate = await pod.take("build"), await pod.take("gate")
    known = ["--workflow-id", workflow_id(pipeline_id), "--activity-id"]
    done = json.dumps({"job_id": build, "status": "success"})
    await say(pod, "activity", "complete", *known, activity_id(build), "--result", done)
    await say(pod, "activity", "fail", *known, activity_id(gate), "--reason", "by hand")
    assert await pod.ended(pipeline_id) == "failed"
    assert await pod.world.statuses(pipeline_id) == {"build": "success", "gate": "failed", "ship": "skipped"}
    assert await pod.world.end(build, hand_out=1) == []  # what its runner says later is too late


async def test_pausing_an_activity_holds_nothing_up(pod: Pod) -> None:
    pipeline_id = await pod.create(PAIR)
    a = await pod.take("a")
    known = ["--workflow-id", workflow_id(pipeline_id), "--activity-id", activity_id(a)]
    await say(pod, "activity", "pause", *known)
    await pod.end(a)
    b = await pod.take("b")
    known[-1] = activity_id(b)
    await say(pod, "activity", "pause", *known)
    await say(pod, "activity", "unpause", *known)
    await pod.end(b)
    assert await pod.ended(pipeline_id) == "success"
    assert [row.attempt for row in await pod.world.rows(job, pipeline_id=pipeline_id)] == [1, 1]


async def test_queries_say_how_it_stands_and_why_it_waits(pod: Pod) -> None:
    pipeline_id = await pod.create("""
        stages: [check, ship]
        gate: {stage: check, script: b, when: manual, allow_failure: false}
        ship: {stage: ship, script: c}
    """)

    async def recorded() -> Any:
        answer = await query(pod, pipeline_id, "status")
        return answer if answer.get("status") == "manual" else None

    seen = await eventually(recorded, "the workflow knows what it has recorded", SLOWLY)
    assert seen["pipeline"] == pipeline_id
    assert seen["jobs"] == {"manual": 1, "created": 1}
    assert [(stage["name"], stage["status"]) for stage in seen["stages"]] == [("check", "manual"), ("ship", "created")]
    assert not seen["open"]
    every = (await query(pod, pipeline_id, "why"))["jobs"]
    assert [(one["name"], one["why"]) for one in every] == [
        ("gate", "It waits for a person; so does all that comes after it."),
        ("ship", "It waits for stage check: gate (manual)."),
    ]
    for given in ('"ship"', str(every[1]["id"]), json.dumps({"job_id": every[1]["id"]})):
        assert (await query(pod, pipeline_id, "why", given))["jobs"] == [every[1]]
    unknown = ["--workflow-id", workflow_id(pipeline_id), "--type", "why", "--input", '"nope"']
    said = await temporal(pod.settings.temporal, "workflow", "query", *unknown)
    assert said.code == 1
    assert "has no job 'nope'" in said.text


@pytest.mark.parametrize(
    ("result", "status"),
    [
        ('{"status": "success"}', "success"),
        ('"success"', "success"),
        ('{"job_id": 1, "status": "canceled", "hand_out": "x"}', "canceled"),
        ('{"status": "running"}', "failed"),
        ('["success"]', "failed"),
        ('"done"', "failed"),
        ("null", "failed"),
    ],
)
async def test_whatever_completes_an_activity_by_hand_ends_its_job(pod: Pod, result: str, status: str) -> None:
    pipeline_id = await pod.create("a: {script: x}\n")
    a = await pod.take("a")
    known = ["--workflow-id", workflow_id(pipeline_id), "--activity-id", activity_id(a), "--result", result]
    await say(pod, "activity", "complete", *known)
    assert await pod.ended(pipeline_id) == status
    assert await pod.world.statuses(pipeline_id) == {"a": status}
