"""Which build of the workers new pipelines go to, where worker versions are used (`PERDURE_WORKER_DEPLOYMENT`).

A pipeline stays with the build that began it; only new ones go to the current build, so somebody has to say which one
that is. Source: Temporal's API, `SetWorkerDeploymentCurrentVersion`. One that has ended and whose workflow only waits
for a retry goes there too: it is told to look, and continues there as a new run, so that no old worker has to be kept
for it.
"""

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from temporalio.api.workflowservice.v1 import (
    DescribeWorkerDeploymentRequest,
    SetWorkerDeploymentCurrentVersionRequest,
)
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from domain.errors import Unavailable
from workflows.handles import Pipelines

UNNAMED: Final = "unnamed"
"""The build of workers that were given none."""
_RPC: Final = timedelta(seconds=10)
_MAX_CONCURRENT: Final = 20
_LOOK_EVERY: Final = 1.0
_POLLED_WITHIN: Final = 30.0
"""Seconds within which Temporal knows every task queue of a worker that polls."""


@dataclass(frozen=True, slots=True)
class Builds:
    """The builds of a deployment that have polled, and the one that is current (empty: none yet)."""

    known: frozenset[str]
    current: str


async def builds_of(client: Client, deployment: str) -> Builds:
    """What Temporal knows of a deployment. Raises `RPCError` while Temporal is away."""
    request = DescribeWorkerDeploymentRequest(namespace=client.namespace, deployment_name=deployment)
    try:
        info = (await client.workflow_service.describe_worker_deployment(request, timeout=_RPC)).worker_deployment_info
    except RPCError as error:
        if error.status is RPCStatusCode.NOT_FOUND:
            return Builds(frozenset(), "")
        raise
    known = frozenset(summary.deployment_version.build_id for summary in info.version_summaries)
    return Builds(known, info.routing_config.current_deployment_version.build_id)


async def make_current(client: Client, deployment: str, build: str, patience: float = _POLLED_WITHIN) -> None:
    """New pipelines go to this build from now on.

    Temporal takes a moment to learn of every task queue that a new worker polls, and refuses a build that lacks one of
    the current build: it is asked again for `patience` seconds. Raises `Unavailable` when it still refuses then, and
    `RPCError` when it says anything else.
    """
    request = SetWorkerDeploymentCurrentVersionRequest(
        namespace=client.namespace, deployment_name=deployment, build_id=build, identity="perdure upgrade"
    )
    deadline = asyncio.get_running_loop().time() + patience
    while True:
        try:
            await client.workflow_service.set_worker_deployment_current_version(request, timeout=_RPC)
        except RPCError as error:
            if error.status is not RPCStatusCode.FAILED_PRECONDITION:
                raise
            if asyncio.get_running_loop().time() >= deadline:
                raise Unavailable(
                    f"Temporal does not let build {build} become current: {error.message}. Start all its workers, "
                    "then run this again."
                ) from error
            await asyncio.sleep(_LOOK_EVERY)
        else:
            return


@dataclass(frozen=True, slots=True)
class Moved:
    """How many pipelines that only wait for a retry have left other builds, and how many are still there."""

    gone: int
    left: int


async def move_windows(client: Client, task_queue: str, deployment: str, build: str, patience: float) -> Moved:
    """Let workflows that only wait for a retry go to the current build, for `patience` seconds at most; 0 only counts.

    Their workers must still run: a workflow leaves a build by its own last step there. They are told again and again,
    since Temporal takes a moment until it tells a workflow that another build is current.
    """
    pipelines = Pipelines(client, task_queue)
    deadline = asyncio.get_running_loop().time() + patience
    seen: set[int] = set()
    while True:
        waiting = await pipelines.runs.in_window(not_on=f"{deployment}:{build}")
        seen |= waiting
        if not waiting or asyncio.get_running_loop().time() >= deadline:
            return Moved(len(seen - waiting), len(waiting))
        told = sorted(waiting)
        for start in range(0, len(told), _MAX_CONCURRENT):
            await asyncio.gather(
                *(_tell(pipelines, pipeline_id) for pipeline_id in told[start : start + _MAX_CONCURRENT])
            )
        await asyncio.sleep(_LOOK_EVERY)


async def _tell(pipelines: Pipelines, pipeline_id: int) -> None:
    try:
        await pipelines.handle(pipeline_id).signal("reconcile", rpc_timeout=_RPC)
    except RPCError as error:
        if error.status is not RPCStatusCode.NOT_FOUND:
            raise  # one that is not found has closed since it was listed
