"""The pipelines whose histories are kept: each plays one side of the workflow to its end."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from sqlalchemy import delete

from domain.messages import Operation, PipelineInput
from domain.pipelines.status import Status
from models.clock import system_clock
from models.notifications import OUTBOX
from models.repositories.pipelines import bridges, outbox, pipelines
from tests.handed_in_steps import RUN, STEPS, hand_in, written
from tests.models.world import job, outbox_table
from tests.waiting import eventually
from tests.workflows.pod import Pod
from workflows.await_job import workflow_id


async def stage(pod: Pod) -> int:
    """Three stages, two jobs at once, all well."""
    pipeline_id = await pod.create("""
        stages: [build, test, deploy]
        build: {stage: build, script: a}
        unit: {stage: test, script: b}
        lint: {stage: test, script: c}
        deploy: {stage: deploy, script: d}
    """)
    for name in ("build", "unit", "lint", "deploy"):
        await pod.run(name)
    return pipeline_id


async def needs(pod: Pod) -> int:
    """Needs across stages; a failure that skips some jobs and starts another."""
    pipeline_id = await pod.create("""
        stages: [build, test, deploy]
        fast: {stage: build, script: a}
        slow: {stage: build, script: b}
        check: {stage: test, script: c, needs: [fast]}
        ship: {stage: deploy, script: d, needs: [check, slow]}
        undo: {stage: deploy, script: e, when: on_failure, needs: [slow]}
    """)
    await pod.run("fast")
    await pod.run("check")
    await pod.run("slow", Status.FAILED)
    await pod.run("undo")
    return pipeline_id


async def manual(pod: Pod) -> int:
    """A gate that is played while the workflow is open, and a refused update."""
    pipeline_id = await pod.create("""
        stages: [gate, after]
        gate: {stage: gate, script: a, when: manual, allow_failure: false}
        after: {stage: after, script: b}
    """)
    await pod.until(pipeline_id, gate="manual")
    gate = (await pod.world.row(job, pipeline_id=pipeline_id, name="gate")).id
    await pod.ask(pipeline_id, "play_job", gate)
    await pod.run("gate")
    await pod.run("after")
    return pipeline_id


async def retry(pod: Pod) -> int:
    """An automatic retry, a failure, and a retry by hand in a later run; the history is that of the later run."""
    pipeline_id = await pod.create("""
        stages: [build, test]
        unsteady: {stage: build, script: a, retry: 1}
        test: {stage: test, script: b}
    """)
    await pod.run("unsteady", Status.FAILED)
    failed = await pod.run("unsteady", Status.FAILED)
    await pod.ended(pipeline_id)
    await pod.ask(pipeline_id, "retry_job", failed)
    await pod.run("unsteady", Status.SUCCESS)
    await pod.run("test")
    return pipeline_id


async def retry_from_step(pod: Pod) -> int:
    """A retry that begins at a step, after two that cannot; the history is that of the run with all three."""
    pipeline_id = await pod.create(RUN + "    other: {script: x}\n")
    other = await pod.take("other")
    first = await pod.take("work")
    await hand_in(pod.world.database, pod.store, first, written(*STEPS))
    await pod.end(first, Status.FAILED)
    await pod.until(pipeline_id, work="failed")
    for step in ("nope", "4"):
        await _signal(pod, pipeline_id, Operation(step, first, from_step=step))
    await _signal(pod, pipeline_id, Operation("right", first, from_step="whisper"))
    await pod.run("work")
    await pod.end(other)
    return pipeline_id


async def _signal(pod: Pod, pipeline_id: int, operation: Operation) -> None:
    async with pod.world.database.read() as connection:
        facts = (await pipelines.facts_of(connection, [pipeline_id]))[pipeline_id]
    await pod.pipelines.signal(facts, "retry_job", operation)


async def automatic_retry(pod: Pod) -> int:
    """A failure that is tried again by itself."""
    pipeline_id = await pod.create("unsteady: {script: a, retry: 2}\n")
    await pod.run("unsteady", Status.FAILED)
    await pod.run("unsteady")
    return pipeline_id


async def canceled(pod: Pod) -> int:
    """A cancel while one job runs, one waits for a runner and one has not begun."""
    pipeline_id = await pod.create("""
        stages: [build, test]
        one: {stage: build, script: a}
        two: {stage: build, script: b}
        three: {stage: test, script: c}
    """)
    one = await pod.take("one", cancel_gracefully=True)
    await pod.ask(pipeline_id, "cancel_pipeline")
    if (await pod.world.row(job, id=one)).status == Status.CANCELING:
        await pod.end(one, Status.FAILED, reason="job_canceled")
    return pipeline_id


async def delayed(pod: Pod) -> int:
    """A job that waits for its timer."""
    pipeline_id = await pod.create("later: {script: a, when: delayed, start_in: 1 second}\n")
    await pod.run("later")
    return pipeline_id


async def delayed_beside_skipped(pod: Pod) -> int:
    """A job whose time comes beside one that was skipped because of another; in the history it ran all the same."""
    pipeline_id = await pod.create("""
        stages: [build, test]
        later: {stage: build, script: a, when: delayed, start_in: 5 seconds}
        gate: {stage: build, script: b, when: manual}
        after: {stage: test, script: c, needs: [gate]}
    """)
    await pod.until(pipeline_id, later="scheduled", gate="manual", after="skipped")
    await pod.ask(pipeline_id, "cancel_job", (await pod.world.row(job, pipeline_id=pipeline_id, name="gate")).id)
    await pod.run("later")
    return pipeline_id


async def bridge(pod: Pod) -> int:
    """A bridge that mirrors its downstream pipeline, and follows it again after a retry down there."""
    downstream_id = await pod.create("gate: {script: a, when: manual, allow_failure: false}\n")
    pipeline_id = await pod.create("""
        stages: [call, after]
        call: {stage: call, trigger: {project: acme/other, strategy: mirror}}
        after: {stage: after, script: b}
    """)
    await pod.until(pipeline_id, call="pending")
    call = await _begin_to_follow(pod, pipeline_id, downstream_id)
    await _tell(pod, pipeline_id, "mirror_downstream", call, "manual")
    await pod.until(pipeline_id, call="manual")
    await _tell(pod, pipeline_id, "mirror_downstream", call, "running")
    await pod.until(pipeline_id, call="running")
    await pod.end(call, Status.FAILED)
    await pod.until(pipeline_id, call="failed", after="skipped")
    await pod.ended(pipeline_id)
    await _tell(pod, pipeline_id, "revive_bridge", call)
    await pod.until(pipeline_id, call="pending")
    await pod.end(await _begin_to_follow(pod, pipeline_id, downstream_id))
    await pod.run("after")
    await pod.ask(downstream_id, "cancel_pipeline")
    return pipeline_id


async def _begin_to_follow(pod: Pod, pipeline_id: int, downstream_id: int) -> int:
    """What the bridge loop does once a downstream pipeline is there; the id of the bridge."""
    bridge_id = next(row.id for row in await pod.world.rows(job, pipeline_id=pipeline_id) if row.status == "pending")
    async with pod.world.database.write() as connection:
        await connection.execute(delete(outbox_table).where(outbox_table.c.job_id == bridge_id))
        await bridges.begin(connection, await bridges.read(connection, bridge_id), downstream_id, system_clock())
        await connection.execute(delete(outbox_table).where(outbox_table.c.kind == outbox.FOLLOW))
    return int(bridge_id)


async def _tell(pod: Pod, pipeline_id: int, name: str, job_id: int, reason: str = "") -> None:
    """Send a message as the outbox does."""
    async with pod.world.database.write() as connection:
        payload = {"name": name, "key": f"{name}-{job_id}-{reason}", "reason": reason}
        await outbox.put(connection, outbox.COMMAND, pipeline_id, system_clock(), job_ids=[job_id], payload=payload)
    await pod.notifications.notify(OUTBOX)


async def resource_group(pod: Pod) -> int:
    """A job that waits until another pipeline gives its slot back."""
    config = "deploy: {script: a, resource_group: production}\n"
    first = await pod.create(config)
    held = await pod.take("deploy")
    second = await pod.create(config)
    await pod.until(second, deploy="waiting_for_resource")
    await pod.end(held)
    await pod.ended(first)
    await pod.run("deploy")
    return second


async def sharded(pod: Pod) -> int:
    """More open jobs than a workflow waits for itself; one is tried again, the next stage follows."""
    pipeline_id = await pod.create("""
        stages: [build, test]
        build: {stage: build, script: a, parallel: 12, retry: 1}
        test: {stage: test, script: b}
    """)
    await pod.run("build 12/12", Status.FAILED)
    for number in range(1, 13):
        await pod.run(f"build {number}/12")
    await pod.run("test")
    return pipeline_id


async def continued(pod: Pod) -> int:
    """A pipeline whose history became too long: the history is that of the last run, which began with open jobs."""
    pipeline_id = await pod.create("a: {script: a}\nb: {script: b}\nc: {stage: deploy, script: c}\n")
    a = await pod.take("a")
    first = (await pod.handle(pipeline_id).describe()).run_id

    async def goes_on() -> bool:
        await pod.handle(pipeline_id).execute_update("reconcile")
        return (await pod.handle(pipeline_id).describe()).run_id != first

    await eventually(goes_on, "the workflow is continued as a new run", 60)
    await pod.end(a)
    await pod.run("b")
    await pod.run("c")
    return pipeline_id


async def window(pod: Pod) -> int:
    """A failure, a refused and an accepted signal in the window, another failure; Temporal's Cancel ends the window."""
    pipeline_id = await pod.create("unsteady: {script: a}\n")
    await pod.run("unsteady", Status.FAILED)
    await pod.rests(pipeline_id)
    await pod.handle(pipeline_id).signal("cancel_pipeline")
    await pod.handle(pipeline_id).signal("retry_pipeline")
    await pod.run("unsteady", Status.FAILED)
    await pod.rests(pipeline_id)
    await pod.handle(pipeline_id).cancel()
    return pipeline_id


async def started_with_a_command(pod: Pod) -> int:
    """A pipeline that was canceled, retried by the start of another run, and canceled again."""
    pipeline_id = await pod.create("one: {script: a}\n")
    await pod.take("one")
    await pod.ask(pipeline_id, "cancel_pipeline")
    await pod.ended(pipeline_id)
    await pod.client.start_workflow(
        "Pipeline",
        PipelineInput(pipeline_id, {"name": "retry_pipeline", "key": "again"}),
        id=workflow_id(pipeline_id),
        task_queue=pod.settings.queue,
    )
    await pod.take("one")
    await pod.ask(pipeline_id, "cancel_pipeline")
    return pipeline_id


SHAPES: Final[Mapping[str, Callable[[Pod], Awaitable[int]]]] = {
    shape.__name__: shape
    for shape in (
        stage,
        needs,
        manual,
        retry,
        retry_from_step,
        automatic_retry,
        canceled,
        delayed,
        delayed_beside_skipped,
        bridge,
        resource_group,
        sharded,
        continued,
        window,
        started_with_a_command,
    )
}
"""Each plays a pipeline to its last verdict and gives back its id."""

WINDOWS: Final[Mapping[str, float]] = {"window": 3_600.0}
"""Seconds for which the workflow of a shape waits for retries; that of any other closes when its pipeline has ended."""
