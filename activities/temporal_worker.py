"""The Temporal side of a process: a client with the right converter, and a worker for pipelines."""

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any, Final

from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import AddSearchAttributesRequest, ListSearchAttributesRequest
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest, UpdateNamespaceRequest
from temporalio.client import Client
from temporalio.common import VersioningBehavior, WorkerDeploymentVersion
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.service import RPCError, RPCStatusCode
from temporalio.worker import (
    PollerBehaviorAutoscaling,
    UnsandboxedWorkflowRunner,
    Worker,
    WorkerDeploymentConfig,
    WorkflowRunner,
)
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions

from activities.commit_reports import ReportActivities
from activities.hooks.deliveries import HookActivities
from activities.pipelines import PipelineActivities
from activities.resource_groups import ResourceGroupActivities
from activities.schedules import ScheduleActivities
from activities.worker_version import UNNAMED
from domain.errors import Invalid
from settings import Settings
from workflows import search_attributes
from workflows.hook_delivery import HookDeliveryWorkflow
from workflows.pipeline import PipelineWorkflow
from workflows.resource_group import ResourceGroupWorkflow
from workflows.scheduled_pipeline import ScheduledPipelineWorkflow
from workflows.status_report import StatusReportWorkflow
from workflows.waiting_room import WaitingRoomWorkflow

OUR_MODULES: Final = ("domain", "workflows")
"""Passed through the sandbox: they are deterministic, and loading them again for each workflow costs 20 ms."""

_INSTALLATION: Final = "perdure_installation"
_TYPES: Final = {
    "Keyword": IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD,
    "Int": IndexedValueType.INDEXED_VALUE_TYPE_INT,
}


async def connect(settings: Settings) -> Client:
    """A client of the pod's namespace. Raises `RuntimeError` or `RPCError` while Temporal is away."""
    return await Client.connect(
        settings.temporal, namespace=settings.temporal_namespace, data_converter=pydantic_data_converter
    )


async def missing_attributes(client: Client) -> list[str]:
    """Our search attributes that the namespace does not have. Raises `RPCError` while Temporal is away."""
    there = await client.operator_service.list_search_attributes(
        ListSearchAttributesRequest(namespace=client.namespace)
    )
    return [key.name for key in search_attributes.ALL if key.name not in there.custom_attributes]


async def prepare_namespace(client: Client, installation_id: str) -> None:
    """Add our search attributes and mark the namespace as ours. Raises `Invalid` if it is another installation's."""
    types = {
        key.name: _TYPES["Int" if key is search_attributes.PIPELINE_ID else "Keyword"] for key in search_attributes.ALL
    }
    request = AddSearchAttributesRequest(namespace=client.namespace, search_attributes=types)
    try:
        await client.operator_service.add_search_attributes(request)
    except RPCError as error:
        if error.status is not RPCStatusCode.ALREADY_EXISTS:
            raise
    await _mark(client, installation_id)


async def _mark(client: Client, installation_id: str) -> None:
    found = await client.workflow_service.describe_namespace(DescribeNamespaceRequest(namespace=client.namespace))
    owner = found.namespace_info.data.get(_INSTALLATION)
    if owner == installation_id:
        return
    if owner:
        raise Invalid(
            f"Temporal namespace {client.namespace} belongs to installation {owner}, the database to "
            f"{installation_id}: "
            "check PERDURE_TEMPORAL_ADDRESS, PERDURE_TEMPORAL_NAMESPACE and PERDURE_DATABASE_URL."
        )
    update = UpdateNamespaceRequest(namespace=client.namespace)
    update.update_info.data[_INSTALLATION] = installation_id
    with suppress(AttributeError):
        update.update_info.description = found.namespace_info.description
    await client.workflow_service.update_namespace(update)


def sandbox() -> SandboxedWorkflowRunner:
    """The workflow sandbox, with our own modules passed through."""
    return SandboxedWorkflowRunner(restrictions=SandboxRestrictions.default.with_passthrough_modules(*OUR_MODULES))


def workflow_runner(settings: Settings) -> WorkflowRunner:
    """The sandbox where it is wanted; without it a workflow task costs half."""
    return sandbox() if settings.workflow_sandbox else UnsandboxedWorkflowRunner()


def make_worker(
    client: Client,
    activities: PipelineActivities,
    settings: Settings,
    groups: ResourceGroupActivities,
    schedules: ScheduleActivities,
    hooks: HookActivities | None = None,
    reports: ReportActivities | None = None,
) -> Worker:
    """A worker for all that a pod's workflows do; it is pinned to its build when a deployment is named.

    Without `hooks` and `reports` nobody outside is told anything.
    """
    telling: list[Callable[..., Any]] = [] if hooks is None else [hooks.deliver_hook]
    telling += [] if reports is None else [reports.report_commit]
    deployment = None
    if settings.worker_deployment:
        deployment = WorkerDeploymentConfig(
            version=WorkerDeploymentVersion(settings.worker_deployment, settings.worker_build or UNNAMED),
            use_worker_versioning=True,
            default_versioning_behavior=VersioningBehavior.PINNED,
        )
    return Worker(
        client,
        task_queue=settings.task_queue,
        workflows=[
            PipelineWorkflow,
            WaitingRoomWorkflow,
            ResourceGroupWorkflow,
            HookDeliveryWorkflow,
            StatusReportWorkflow,
            ScheduledPipelineWorkflow,
        ],
        activities=[
            activities.load,
            activities.apply,
            activities.offer_jobs,
            activities.await_job,
            activities.retry_window,
            activities.request_cancellation,
            groups.choose_next,
            *telling,
            schedules.carry_out_tick,
        ],
        workflow_runner=workflow_runner(settings),
        workflow_task_poller_behavior=PollerBehaviorAutoscaling(),
        activity_task_poller_behavior=PollerBehaviorAutoscaling(),
        max_concurrent_workflow_tasks=20,
        max_cached_workflows=2_000,
        graceful_shutdown_timeout=timedelta(seconds=5),
        deployment_config=deployment,
    )
