"""The Temporal side of a process: a client with the right converter, and a worker for pipelines."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, Final

from temporalio.client import Client
from temporalio.common import VersioningBehavior, WorkerDeploymentVersion
from temporalio.worker import (
    Interceptor,
    PollerBehaviorAutoscaling,
    UnsandboxedWorkflowRunner,
    Worker,
    WorkerDeploymentConfig,
    WorkflowRunner,
)
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions

from activities.commit_reports import ReportActivities
from activities.hooks.deliveries import HookActivities
from activities.messages import MessageActivities
from activities.pipelines import PipelineActivities
from activities.query_answers import Explain, QueryAnswers
from activities.resource_groups import ResourceGroupActivities
from activities.schedules import ScheduleActivities
from activities.steps import StepActivities
from activities.worker_version import UNNAMED
from settings import Settings
from workflows.handles import telling_queue
from workflows.hook_delivery import HookDeliveryWorkflow
from workflows.message_delivery import MessageDeliveryWorkflow
from workflows.pipeline import PipelineWorkflow
from workflows.resource_group import ResourceGroupWorkflow
from workflows.scheduled_pipeline import ScheduledPipelineWorkflow
from workflows.status_report import StatusReportWorkflow
from workflows.waiting_room import WaitingRoomWorkflow

OUR_MODULES: Final = ("domain", "workflows")
"""Passed through the sandbox: they are deterministic, and loading them again for each workflow costs 20 ms."""

_TELLING: Final[Sequence[type]] = (HookDeliveryWorkflow, StatusReportWorkflow)
"""The workflows of what webhooks and forges are told."""

_PLAYING: Final[Sequence[type]] = (
    PipelineWorkflow,
    WaitingRoomWorkflow,
    ResourceGroupWorkflow,
    *_TELLING,
    ScheduledPipelineWorkflow,
)
"""The workflows of pipelines; those that tell may be left on their queue by an older version."""


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
    steps: StepActivities | None = None,
    explain: Explain | None = None,
) -> Worker:
    """A worker for all that a pod's workflows do; it is pinned to its build when a deployment is named.

    `hooks` and `reports` are for those workflows that an older version has put on this queue. Without `steps`, which
    need the store, no attempt begins at a step; without `explain` the query `why` says only what the workflow knows.
    """
    carried_out: list[Callable[..., Any]] = [
        activities.load,
        activities.apply,
        activities.read_pipeline,
        activities.record,
        activities.offer_jobs,
        activities.await_job,
        activities.retry_window,
        activities.request_cancellation,
        groups.choose_next,
        *_telling(hooks, reports),
        schedules.carry_out_tick,
        *([] if steps is None else [steps.pin_steps]),
    ]
    answers = [] if explain is None else [QueryAnswers(explain)]
    return _worker(client, settings, settings.queue, _PLAYING, carried_out, answers, tasks=20, cached=2_000)


def make_telling_worker(
    client: Client,
    settings: Settings,
    hooks: HookActivities,
    reports: ReportActivities,
    messages: MessageActivities | None = None,
) -> Worker:
    """A worker for what webhooks, forges, people and chats are told.

    It has a queue of its own: a receiver that is slow or gone, and all that waits for it, delays no pipeline.
    """
    queue = telling_queue(settings.queue)
    carried_out = _telling(hooks, reports) + ([] if messages is None else [messages.deliver_message])
    workflows = (*_TELLING, MessageDeliveryWorkflow)
    return _worker(client, settings, queue, workflows, carried_out, tasks=5, cached=200)


def _worker(
    client: Client,
    settings: Settings,
    queue: str,
    workflows: Sequence[type],
    activities: Sequence[Callable[..., Any]],
    interceptors: Sequence[Interceptor] = (),
    *,
    tasks: int,
    cached: int,
) -> Worker:
    """A worker of a queue that carries out so many workflow tasks at once, and remembers so many workflows."""
    return Worker(
        client,
        task_queue=queue,
        workflows=workflows,
        activities=activities,
        interceptors=interceptors,
        workflow_runner=workflow_runner(settings),
        workflow_task_poller_behavior=PollerBehaviorAutoscaling(),
        activity_task_poller_behavior=PollerBehaviorAutoscaling(),
        max_concurrent_workflow_tasks=tasks,
        max_cached_workflows=cached,
        graceful_shutdown_timeout=timedelta(seconds=5),
        deployment_config=_deployment(settings),
    )


def _telling(hooks: HookActivities | None, reports: ReportActivities | None) -> list[Callable[..., Any]]:
    found: list[Callable[..., Any]] = [] if hooks is None else [hooks.deliver_hook]
    return found if reports is None else [*found, reports.report_commit]


def _deployment(settings: Settings) -> WorkerDeploymentConfig | None:
    if not settings.worker_deployment:
        return None
    return WorkerDeploymentConfig(
        version=WorkerDeploymentVersion(settings.worker_deployment, settings.worker_build or UNNAMED),
        use_worker_versioning=True,
        default_versioning_behavior=VersioningBehavior.PINNED,
    )
