"""Workers of two builds, one after the other: what waits for a retry goes along, so that no old worker has to stay."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import pytest
from temporalio import activity
from temporalio.common import VersioningBehavior, WorkerDeploymentVersion
from temporalio.worker import Worker, WorkerDeploymentConfig

from activities.temporal_client import connect
from activities.worker_version import Moved, builds_of, make_current, move_windows
from domain.errors import Unavailable
from domain.pipelines.status import Status
from tests.waiting import eventually
from tests.workflows.pod import Pod, running_pod


@pytest.fixture
async def pod(temporal: str, tmp_path: Path) -> AsyncIterator[Pod]:
    """A pod without a worker, of a deployment of its own."""
    async with running_pod(temporal, tmp_path, retry_window=3_600.0) as running:
        await running.stop_worker()
        running.settings = running.settings.model_copy(update={"worker_deployment": f"perdure-{uuid4().hex[:8]}"})
        yield running


async def begin(pod: Pod, build: str) -> None:
    """Start a worker of a build, beside whoever works, and let new pipelines go there."""
    pod.settings = pod.settings.model_copy(update={"worker_build": build})
    await pod.start_worker()
    await knows(pod, build)
    await make_current(pod.client, pod.settings.worker_deployment, build)


async def knows(pod: Pod, build: str) -> None:
    """Wait until Temporal has heard of a worker of this build."""

    async def has_polled() -> bool:
        return build in (await builds_of(pod.client, pod.settings.worker_deployment)).known

    await eventually(has_polled, f"a worker of {build} has polled", 60)


@activity.defn
async def nothing() -> None:
    """What a worker has that polls for no workflow."""


async def test_a_build_is_refused_until_its_workers_poll_every_task_queue(pod: Pod) -> None:
    await begin(pod, "one")
    pipeline_id = await pod.create("a: {script: x}\n")
    await pod.run("a")
    assert await pod.ended(pipeline_id) == "success"
    deployment, queue = pod.settings.worker_deployment, pod.settings.queue
    version = WorkerDeploymentVersion(deployment, "two")
    half = Worker(
        await connect(pod.settings),  # a client takes one worker of a kind for a task queue
        task_queue=queue,
        activities=[nothing],
        deployment_config=WorkerDeploymentConfig(
            version, use_worker_versioning=True, default_versioning_behavior=VersioningBehavior.PINNED
        ),
    )
    old = pod.detach_worker()
    try:
        async with half:
            await knows(pod, "two")
            with pytest.raises(Unavailable, match="does not let build two become current"):
                await make_current(pod.client, deployment, "two", patience=0)
            asking = asyncio.create_task(make_current(pod.client, deployment, "two", patience=60))
            pod.settings = pod.settings.model_copy(update={"worker_build": "two"})
            await pod.start_worker()
            await asking
    finally:
        await old.shutdown()
    assert (await builds_of(pod.client, deployment)).current == "two"


async def test_what_waits_for_a_retry_leaves_an_old_build(pod: Pod) -> None:
    """Some seconds long, since Temporal takes its time to know a build: an upgrade must not leave anybody behind."""
    await begin(pod, "one")
    pipeline_id = await pod.create("a: {script: x}\n")
    await pod.run("a", Status.FAILED)
    assert await pod.rests(pipeline_id) == "failed"
    first = await pod.pipelines.runs.latest(pipeline_id)
    old = pod.detach_worker()
    try:
        await begin(pod, "two")

        async def is_listed() -> bool:
            return pipeline_id in await pod.pipelines.runs.in_window(not_on=f"{pod.settings.worker_deployment}:two")

        await eventually(is_listed, "visibility lists what waits")
        place = (pod.client, pod.settings.queue, pod.settings.worker_deployment, "two")
        assert await move_windows(*place, patience=60) == Moved(gone=1, left=0)
    finally:
        await old.shutdown()
    assert await pod.pipelines.runs.latest(pipeline_id) != first
    assert await pod.rests(pipeline_id) == "failed"
    await pod.handle(pipeline_id).signal("retry_pipeline")
    await pod.run("a")
    assert await pod.ended(pipeline_id) == "success"
