"""`retry_job` with `from_step` on the real Temporal: by update, by signal, with the start, and from the outbox."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from domain.errors import Unavailable
from domain.pipelines.status import Status
from models.clock import system_clock
from models.columns import table_of
from models.notifications import OUTBOX
from models.repositories.artifacts import job_objects
from models.repositories.pipelines import outbox, pinned_steps
from models.tables.pinned_steps import PinnedSteps
from storage.objects import ObjectStore
from tests.handed_in_steps import DONE, RUN, STEPS, hand_in, step, written
from tests.models.world import job
from tests.workflows.command import temporal
from tests.workflows.pod import Pod
from tests.workflows.test_operators import attempts, say, starting, update
from workflows.await_job import workflow_id

BEGUN = {"from": "whisper", "done": DONE}


async def failed(pod: Pod, *steps: Any) -> tuple[int, int]:
    """A pipeline that is over, and its job, whose runner has handed in these steps."""
    pipeline_id = await pod.create(RUN)
    first = await pod.take("work")
    await hand_in(pod.world.database, pod.store, first, written(*steps))
    await pod.end(first, Status.FAILED)
    assert await pod.ended(pipeline_id) == "failed"
    return pipeline_id, first


async def begun(pod: Pod, job_id: int) -> Any:
    """What a runner is told of where an attempt begins."""
    async with pod.world.database.read() as connection:
        return await pinned_steps.of_job(connection, job_id)


async def history(pod: Pod, pipeline_id: int) -> bytes:
    """Every byte that Temporal keeps of the pipeline's latest run."""
    found = await pod.handle(pipeline_id).fetch_history()
    return b"".join(event.SerializeToString() for event in found.events)


def asking(pod: Pod, pipeline_id: int, **operation: Any) -> list[str]:
    """The words of an update that starts a closed pipeline again."""
    words = [*starting(pod, pipeline_id), "--id-conflict-policy", "UseExisting", "--update-name", "retry_job"]
    return ["workflow", "execute-update-with-start", *words, "--update-input", json.dumps(operation)]


async def test_an_update_begins_at_the_step_and_no_history_has_what_steps_gave(pod: Pod) -> None:
    pipeline_id, first = await failed(pod, *STEPS)
    await say(pod, *asking(pod, pipeline_id, job_id=first, from_step=3))
    async with pod.world.database.write() as connection:
        await job_objects.erase(connection, first, system_clock())
    second = await pod.take("work")
    assert await begun(pod, second) == BEGUN
    await pod.end(second)
    assert await pod.ended(pipeline_id) == "success"
    kept = await history(pod, pipeline_id)
    assert b"from_step" in kept
    assert b"canary" not in kept


async def test_the_update_of_a_pipeline_that_is_open_begins_at_the_step(pod: Pod) -> None:
    pipeline_id = await pod.create(RUN + "    other: {script: x}\n")
    other = await pod.take("other")
    first = await pod.take("work")
    await hand_in(pod.world.database, pod.store, first, written(*STEPS))
    await pod.end(first, Status.FAILED)
    said = await update(pod, pipeline_id, "retry_job", job_id=first, from_step="whisper")
    assert said.code == 0, said.text
    second = await pod.take("work")
    assert await begun(pod, second) == BEGUN
    for held in (second, other):
        await pod.end(held)
    assert await pod.ended(pipeline_id) == "success"


@pytest.mark.parametrize(
    ("from_step", "why"),
    [
        (
            "shuot",
            "The job has no step 'shuot'; did you mean `shout`? Its steps are hello (1), shout (2), whisper (3).",
        ),
        (7, "The job has no step '7'. Its steps are"),
        ("whisper", "step 'shout' before it gave something sensitive, which is not kept. Begin at 'shout' or before."),
        (True, "from_step is a text, not the truth value 'True'"),
    ],
)
async def test_an_operator_is_told_why_it_cannot_begin(pod: Pod, from_step: Any, why: str) -> None:
    pipeline_id, first = await failed(pod, STEPS[0], step("shout", is_kept=False), step("whisper", "failed"))
    said = await temporal(pod.settings.temporal, *asking(pod, pipeline_id, job_id=first, from_step=from_step))
    assert said.code == 1
    assert why in said.text
    assert await attempts(pod, first) == [1]
    assert list(await pod.world.rows(table_of(PinnedSteps))) == []
    assert await pod.ended(pipeline_id) == "failed"


async def test_a_signal_begins_at_the_step_once(pod: Pod) -> None:
    pipeline_id, first = await failed(pod, *STEPS)
    words = [*starting(pod, pipeline_id), "--id-reuse-policy", "AllowDuplicate", "--signal-name", "retry_job"]
    words += ["--signal-input", json.dumps({"job_id": first, "from_step": "whisper", "key": "ada-1"})]
    for _ in range(2):
        await say(pod, "workflow", "signal-with-start", *words)
    second = await pod.run("work")
    assert await begun(pod, second) == BEGUN
    assert await pod.ended(pipeline_id) == "success"
    assert await attempts(pod, first) == [1, 2]


async def test_a_start_by_hand_begins_at_the_step(pod: Pod) -> None:
    pipeline_id, first = await failed(pod, *STEPS)
    do = {"name": "retry_job", "job_id": first, "from_step": "whisper"}
    known = ("--workflow-id", workflow_id(pipeline_id), "--type", "Pipeline", "--task-queue", pod.settings.queue)
    await say(pod, "workflow", "start", *known, "--input", json.dumps({"pipeline_id": pipeline_id, "do": do}))
    assert await begun(pod, await pod.run("work")) == BEGUN
    assert await pod.ended(pipeline_id) == "success"


async def test_a_command_that_waited_in_the_outbox_begins_at_the_step(pod: Pod) -> None:
    pipeline_id, first = await failed(pod, *STEPS)
    payload = {"name": "retry_job", "key": "kept", "reason": "", "from_step": "whisper"}
    async with pod.world.database.write() as connection:
        await outbox.put(connection, outbox.COMMAND, pipeline_id, system_clock(), job_ids=[first], payload=payload)
    await pod.notifications.notify(OUTBOX)
    assert await begun(pod, await pod.run("work")) == BEGUN
    assert await pod.ended(pipeline_id) == "success"


async def test_while_the_store_is_away_the_pipeline_goes_on(pod: Pod, monkeypatch: pytest.MonkeyPatch) -> None:
    async def away(*_: Any) -> AsyncIterator[bytes]:
        raise Unavailable("on purpose")
        yield b""

    pipeline_id, first = await failed(pod, *STEPS)
    monkeypatch.setattr(ObjectStore, "read", away)
    said = await temporal(pod.settings.temporal, *asking(pod, pipeline_id, job_id=first, from_step="whisper"))
    assert said.code == 1
    assert "could not be read just now" in said.text
    await say(pod, *asking(pod, pipeline_id, job_id=first))
    second = await pod.run("work")
    assert await begun(pod, second) is None
    assert await pod.ended(pipeline_id) == "success"


async def test_two_commands_about_an_attempt_make_one(pod: Pod) -> None:
    pipeline_id, first = await failed(pod, *STEPS)
    await say(pod, *asking(pod, pipeline_id, job_id=first, from_step="whisper"))
    said = await temporal(pod.settings.temporal, *asking(pod, pipeline_id, job_id=first, from_step="shout"))
    assert said.code == 1
    assert f"Job {first} is not the latest attempt" in said.text
    second = await pod.run("work")
    assert await begun(pod, second) == BEGUN
    assert await pod.ended(pipeline_id) == "success"
    assert [row.job_id for row in await pod.world.rows(table_of(PinnedSteps))] == [second]
    assert [row.attempt for row in await pod.world.rows(job, first_id=first)] == [1, 2]
