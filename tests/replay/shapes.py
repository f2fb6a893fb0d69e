"""The pipelines whose histories are kept: each plays one side of the workflow to its end."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from domain.status import Status
from tests.models.world import job
from tests.workflows.pod import Pod


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


SHAPES: Final[Mapping[str, Callable[[Pod], Awaitable[int]]]] = {
    shape.__name__: shape for shape in (stage, needs, manual, retry, automatic_retry, canceled, delayed)
}
"""Each plays a pipeline to its last verdict and gives back its id."""
