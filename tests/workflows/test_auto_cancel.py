"""A newer commit, or a job that failed for good, cancels what nobody needs any more."""

from dataclasses import replace
from textwrap import dedent
from typing import Any

from domain.pipelines.status import Status
from models.clock import system_clock
from models.notifications import OUTBOX
from models.repositories.pipelines import pipelines
from models.repositories.pipelines.pipelines import PipelineRequest
from tests.compiling import plan_of
from tests.models.world import outbox_table, pipeline
from tests.waiting import eventually
from tests.workflows.pod import Pod

SLOW = 60.0
"""Seconds for what two cores that are busy otherwise may take."""

CONFIG = """
    workflow: {{auto_cancel: {{on_new_commit: {policy}}}}}
    stages: [test, deploy]
    lint: {{stage: test, script: a, interruptible: true}}
    test: {{stage: test, script: b, interruptible: true}}
    release: {{stage: test, script: c}}
    deploy: {{stage: deploy, script: d}}
"""
FIRST, SECOND = "a" * 40, "b" * 40


async def push(pod: Pod, sha: str, config: str, **values: Any) -> int:
    """A pipeline of a commit of `main`."""
    request = replace(PipelineRequest(pod.world.project_id, pod.world.user_id, "main", sha, "push"), **values)
    async with pod.world.database.write() as connection:
        made = await pipelines.create(connection, request, plan_of(dedent(config)), system_clock(), seal=str)
    await pod.notifications.notify(OUTBOX)
    return made


async def offered(pod: Pod, pipeline_id: int) -> None:
    """Wait until the three jobs of the first stage wait for a runner."""
    await pod.until(pipeline_id, lint="pending", test="pending", release="pending")


async def answered(pod: Pod, pipeline_id: int) -> None:
    """Wait until the older pipeline has obeyed: the command is sent, and its key is kept."""

    async def look() -> bool:
        loaded = await pod.world.load(pipeline_id)
        return any(answer.name == "auto_cancel" for answer in loaded.answers)

    await eventually(look, f"pipeline {pipeline_id} has answered", SLOW)


async def reason(pod: Pod, pipeline_id: int) -> str:
    """What people read about the end of the pipeline."""
    return str((await pod.world.row(pipeline, id=pipeline_id)).status_reason)


async def test_conservative_cancels_the_whole_pipeline_while_only_interruptible_jobs_have_started(pod: Pod) -> None:
    old = await push(pod, FIRST, CONFIG.format(policy="conservative"))
    await offered(pod, old)
    await pod.run("lint")
    await pod.until(old, lint="success")
    new = await push(pod, SECOND, CONFIG.format(policy="conservative"))
    assert await pod.ended(old) == "canceled"
    ended = {"lint": "success", "test": "canceled", "release": "canceled", "deploy": "canceled"}
    assert await pod.world.statuses(old) == ended
    assert (await reason(pod, old)).startswith(f"canceled by pipeline {new}: a newer commit")
    await offered(pod, new)


async def test_conservative_does_nothing_once_a_job_that_is_not_interruptible_has_started(pod: Pod) -> None:
    old = await push(pod, FIRST, CONFIG.format(policy="conservative"))
    release = await pod.take("release")
    await push(pod, SECOND, CONFIG.format(policy="conservative"))
    await answered(pod, old)
    assert set((await pod.world.statuses(old)).values()) <= {"running", "pending", "created"}
    await pod.end(release)
    await pod.until(old, release="success")
    assert await reason(pod, old) == ""


async def test_interruptible_cancels_interruptible_jobs_only(pod: Pod) -> None:
    old = await push(pod, FIRST, CONFIG.format(policy="interruptible"))
    release = await pod.take("release")
    await push(pod, SECOND, CONFIG.format(policy="interruptible"))
    await pod.until(old, lint="canceled", test="canceled", release="running")
    await pod.end(release)
    assert await pod.ended(old) == "canceled"
    assert (await pod.world.statuses(old))["release"] == "success"


async def test_none_leaves_the_older_pipeline_alone(pod: Pod) -> None:
    old = await push(pod, FIRST, CONFIG.format(policy="none"))
    await offered(pod, old)
    new = await push(pod, SECOND, CONFIG.format(policy="conservative"))
    await offered(pod, new)
    assert await pod.world.rows(outbox_table, kind="command") == []
    await offered(pod, old)


async def test_the_same_commit_again_cancels_nothing(pod: Pod) -> None:
    old = await push(pod, FIRST, CONFIG.format(policy="conservative"))
    await offered(pod, old)
    new = await push(pod, FIRST, CONFIG.format(policy="conservative"))
    await offered(pod, new)
    await offered(pod, old)


async def test_the_newest_of_three_commits_remains(pod: Pod) -> None:
    config = CONFIG.format(policy="conservative")
    first, second = await push(pod, FIRST, config), await push(pod, SECOND, config)
    third = await push(pod, "c" * 40, config)
    assert await pod.ended(first) == "canceled"
    assert await pod.ended(second) == "canceled"
    await offered(pod, third)


async def test_a_pipeline_that_waits_for_a_person_is_canceled_as_well(pod: Pod) -> None:
    """A manual job that nobody played has not started, whether it is interruptible or not."""
    old = await push(pod, FIRST, "gate: {script: x, when: manual, allow_failure: false}\n")
    await pod.until(old, gate="manual")
    await push(pod, SECOND, "one: {script: x}\n")
    assert await pod.ended(old) == "canceled"


ON_FAILURE = """
    workflow: {auto_cancel: {on_job_failure: all}}
    stages: [test, deploy]
    flaky: {stage: test, script: a, allow_failure: true}
    again: {stage: test, script: b, retry: 1}
    long: {stage: test, script: c}
    deploy: {stage: deploy, script: d}
"""


async def test_a_job_that_fails_for_good_cancels_all_that_has_not_ended(pod: Pod) -> None:
    made = await push(pod, FIRST, ON_FAILURE)
    await pod.run("flaky", Status.FAILED)
    await pod.take("long")
    await pod.run("again", Status.FAILED)
    second = await pod.take("again")
    assert (await pod.world.statuses(made))["long"] == "running"
    await pod.end(second, Status.FAILED)
    assert await pod.ended(made) == "failed"
    assert await pod.world.statuses(made) == {
        "flaky": "failed",
        "again": "failed",
        "long": "canceled",
        "deploy": "canceled",
    }
    assert "on_job_failure" in await reason(pod, made)


async def test_without_it_a_failure_cancels_nothing(pod: Pod) -> None:
    made = await push(pod, FIRST, ON_FAILURE.replace("all}", "none}"))
    long = await pod.take("long")
    await pod.run("again", Status.FAILED)
    await pod.run("again", Status.FAILED)
    await pod.until(made, again="failed", long="running")
    await pod.end(long)
    await pod.run("flaky")
    assert await pod.ended(made) == "failed"
    assert (await pod.world.statuses(made))["deploy"] == "skipped"
