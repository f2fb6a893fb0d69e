"""Resource groups, end to end: real pipelines, real relay, real group workflows."""

import asyncio
import json

import pytest
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.pipelines.resource_groups import ProcessMode
from domain.pipelines.status import Status
from models.clock import system_clock
from models.columns import table_of
from models.repositories.pipelines import resource_groups
from models.repositories.pipelines.resource_groups import Situation
from models.tables.environments import ResourceGroup
from tests.models.world import job
from tests.temporal import new_namespace
from tests.waiting import eventually
from tests.workflows.command import temporal
from tests.workflows.pod import Pod
from workflows.resource_group import group_workflow_id

group = table_of(ResourceGroup)

WITHIN = 60.0
DEPLOY = "deploy: {script: x, resource_group: production}\n"
BUILD_FIRST = """
    stages: [build, deploy]
    build: {stage: build, script: make}
    deploy: {stage: deploy, script: x, resource_group: production}
"""


async def until(pod: Pod, pipeline_id: int, **expected: str) -> None:
    """Wait until these jobs have these statuses."""

    async def look() -> bool:
        found = await pod.world.statuses(pipeline_id)
        return all(found[name] == status for name, status in expected.items())

    await eventually(look, f"{expected} in pipeline {pipeline_id}", WITHIN)


async def waiting(pod: Pod, count: int) -> list[int]:
    """So many pipelines whose jobs wait for the slot, oldest first; somebody must hold it."""
    pipelines = [await pod.create(DEPLOY) for _ in range(count)]
    for pipeline_id in pipelines:
        await until(pod, pipeline_id, deploy="waiting_for_resource")
    return pipelines


async def holding(pod: Pod) -> tuple[int, int]:
    """A pipeline whose job holds the slot, and that job, which runs."""
    pipeline_id = await pod.create(DEPLOY)
    return pipeline_id, await pod.take("deploy")


async def ended(pod: Pod, pipeline_id: int, status: str) -> None:
    """Wait until a pipeline has ended like this."""

    async def look() -> bool:
        return await pod.world.status(pipeline_id) == status

    await eventually(look, f"pipeline {pipeline_id} is {status}", WITHIN)


async def whose_turn(pod: Pod) -> int:
    """The pipeline that has the slot now; its job is run to its end."""
    job_id = await pod.take("deploy")
    running = await pod.world.rows(job, name="deploy", status="running")
    assert [row.id for row in running] == [job_id], "more than one holds the slot"
    await pod.end(job_id)
    return int(running[0].pipeline_id)


async def no_group_runs(pod: Pod) -> None:
    """Wait until the group's workflow has ended."""
    handle = pod.client.get_workflow_handle(group_workflow_id((await pod.world.row(group)).id))
    await asyncio.wait_for(handle.result(), WITHIN)


async def test_one_at_a_time_through_a_group(pod: Pod) -> None:
    first, job_id = await holding(pod)
    others = await waiting(pod, 2)
    assert await pod.world.status(others[0]) == "waiting_for_resource"
    await pod.end(job_id)
    assert [await whose_turn(pod) for _ in others] == others
    for pipeline_id in (first, *others):
        assert await pod.ended(pipeline_id) == "success"
    await no_group_runs(pod)


@pytest.mark.parametrize("how", ["runner lost", "canceled", "terminated"])
async def test_the_slot_passes_on_however_its_holder_goes(pod: Pod, how: str) -> None:
    first, job_id = await holding(pod)
    (second,) = await waiting(pod, 1)
    if how == "runner lost":
        await pod.end(job_id, Status.FAILED, reason="runner_lost")
    elif how == "canceled":
        await pod.ask(first, "cancel_pipeline")
    else:
        await pod.terminate(first)
        assert first in await pod.reconcile(first)
    assert await whose_turn(pod) == second
    assert await pod.ended(first) == ("failed" if how == "runner lost" else "canceled")
    assert await pod.ended(second) == "success"


async def test_a_holder_whose_workflow_is_terminated_before_its_job_is_offered_keeps_no_slot(pod: Pod) -> None:
    """It has taken the slot and has died: its row is not complete, so the reconciler must end it."""
    _, job_id = await holding(pod)
    first, second = await waiting(pod, 2)
    await pod.stop_worker()
    await pod.terminate(first)
    await pod.end(job_id)
    taken = (await pod.world.row(job, pipeline_id=first)).id
    async with pod.world.database.write() as connection:
        assert await resource_groups.take(connection, [taken]) == (taken,)
    await pod.start_worker()
    assert first in await pod.reconcile(first)
    assert await whose_turn(pod) == second
    assert await pod.ended(first) == "canceled"


async def test_a_waiter_that_is_canceled_between_choice_and_take_is_passed_over(
    pod: Pod, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, job_id = await holding(pod)
    chosen, other = await waiting(pod, 2)
    read = resource_groups.situation
    canceled = asyncio.Event()

    async def slowly(connection: AsyncConnection, group_id: int) -> Situation | None:
        found = await read(connection, group_id)
        if found is not None and found.is_free and not canceled.is_set():
            assert min(candidate.pipeline_id for candidate in found.candidates) == chosen
            canceled.set()
            await pod.ask(chosen, "cancel_pipeline")
        return found

    monkeypatch.setattr(resource_groups, "situation", slowly)
    await pod.end(job_id)
    assert await whose_turn(pod) == other
    assert canceled.is_set()
    assert await pod.world.statuses(chosen) == {"deploy": "canceled"}


async def test_the_next_one_comes_when_the_workflow_of_the_chosen_one_is_gone(pod: Pod) -> None:
    _, job_id = await holding(pod)
    lost, other = await waiting(pod, 2)
    await pod.terminate(lost)
    await pod.end(job_id)
    assert await whose_turn(pod) == other
    await until(pod, lost, deploy="waiting_for_resource")
    await pod.reconcile(lost)
    await ended(pod, lost, "canceled")


async def test_a_retried_job_waits_for_its_turn_again(pod: Pod) -> None:
    first = await pod.create("deploy: {script: x, resource_group: production, retry: 1}\n")
    job_id = await pod.take("deploy")
    (second,) = await waiting(pod, 1)
    await pod.end(job_id, Status.FAILED)
    turns = [await whose_turn(pod), await whose_turn(pod)]
    assert sorted(turns) == [first, second]
    assert await pod.ended(first) == "success"
    assert [row.status for row in await pod.world.rows(job, pipeline_id=first)] == ["failed", "success"]


async def test_a_group_that_temporal_has_lost_is_found_in_sql(pod: Pod) -> None:
    """Temporal comes back empty after the slot became free: nobody is left who would look."""
    _, job_id = await holding(pod)
    (second,) = await waiting(pod, 1)
    await pod.stop_worker()
    await pod.end(job_id)

    async def told() -> bool:
        return "group" not in await pod.unsent()

    await eventually(told, "the group has been told", WITHIN)
    await pod.close()
    await pod.join(await new_namespace(pod.settings.temporal))
    await pod.start()
    assert second in await pod.reconcile(second)
    assert await whose_turn(pod) == second
    assert await pod.ended(second) == "success"


async def test_an_operator_lets_a_group_look_whose_workflow_he_has_terminated(pod: Pod) -> None:
    _, job_id = await holding(pod)
    (second,) = await waiting(pod, 1)
    group_id = (await pod.world.row(group)).id
    await pod.stop_relay()
    await pod.client.get_workflow_handle(group_workflow_id(group_id)).terminate("by hand")
    await pod.end(job_id)
    words = ["--workflow-id", group_workflow_id(group_id), "--type", "ResourceGroup", "--signal-name", "look"]
    words += ["--task-queue", pod.settings.queue, "--id-reuse-policy", "AllowDuplicate"]
    words += ["--input", json.dumps({"group_id": group_id}), "--signal-input", "{}"]  # more than it wants
    said = await temporal(pod.settings.temporal, "workflow", "signal-with-start", *words)
    assert said.code == 0, said.text
    assert await whose_turn(pod) == second


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (ProcessMode.UNORDERED, [1, 0, 2, 3]),
        (ProcessMode.OLDEST_FIRST, [0, 1, 2, 3]),
        (ProcessMode.NEWEST_FIRST, [3, 2, 1, 0]),
        (ProcessMode.NEWEST_READY_FIRST, [2, 3, 1, 0]),
    ],
)
async def test_each_mode_has_its_order_of_four_pipelines(
    pod: Pod, monkeypatch: pytest.MonkeyPatch, mode: ProcessMode, expected: list[int]
) -> None:
    """The oldest and the newest pipeline still build when the slot becomes free."""
    _, holder = await holding(pod)
    four = [await pod.create(config) for config in (BUILD_FIRST, DEPLOY, DEPLOY, BUILD_FIRST)]
    for pipeline_id in four[1:3]:
        await until(pod, pipeline_id, deploy="waiting_for_resource")
    builds = [await pod.take("build") for _ in range(2)]
    async with pod.world.database.write() as connection:
        row = (await connection.execute(select(group))).one()
        await resource_groups.set_mode(connection, row.id, mode, system_clock())
    free = watch(monkeypatch)
    await pod.end(holder)
    await asyncio.wait_for(free.wait(), WITHIN)
    turns: list[int] = []
    if mode in {ProcessMode.UNORDERED, ProcessMode.NEWEST_READY_FIRST}:
        ready = await pod.take("deploy")
        for build in builds:
            await pod.end(build)
        for pipeline_id in (four[0], four[3]):
            await until(pod, pipeline_id, deploy="waiting_for_resource")
        turns.append((await pod.world.row(job, id=ready)).pipeline_id)
        await pod.end(ready)
    else:
        for build in builds:
            await pod.end(build)
    while len(turns) < len(four):
        turns.append(await whose_turn(pod))
    assert [four.index(pipeline_id) for pipeline_id in turns] == expected


def watch(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Set when a group's workflow has seen the slot free."""
    seen, read = asyncio.Event(), resource_groups.situation

    async def watched(connection: AsyncConnection, group_id: int) -> Situation | None:
        found = await read(connection, group_id)
        if found is not None and found.is_free:
            seen.set()
        return found

    monkeypatch.setattr(resource_groups, "situation", watched)
    return seen


async def test_an_older_job_that_is_skipped_does_not_keep_the_slot(pod: Pod) -> None:
    """The group keeps it for the oldest pipeline; when its job will never come, the next has its turn at once."""
    _, holder = await holding(pod)
    older = await pod.create(BUILD_FIRST)
    build = await pod.take("build")
    (newer,) = await waiting(pod, 1)
    async with pod.world.database.write() as connection:
        row = (await connection.execute(select(group))).one()
        await resource_groups.set_mode(connection, row.id, ProcessMode.OLDEST_FIRST, system_clock())
    await pod.end(holder)
    await pod.end(build, Status.FAILED)
    await until(pod, older, deploy="skipped")
    assert await whose_turn(pod) == newer
