"""Typed calls on pipeline workflows, for those outside: start, complete a job, ask for an operation.

Source: docs/reference/temporal.md, "Messages and new runs".
"""

import asyncio
from datetime import timedelta
from typing import Final

from temporalio.client import Client, WithStartWorkflowOperation, WorkflowHandle
from temporalio.common import (
    SearchAttributePair,
    TypedSearchAttributes,
    WorkflowIDConflictPolicy,
    WorkflowIDReusePolicy,
)

from domain.messages import (
    Answer,
    DeliverHook,
    DeliverMessage,
    GroupInput,
    Operation,
    PipelineFacts,
    PipelineInput,
    ReportCommit,
)
from domain.pipelines.status import Status
from domain.pipelines.verdict import Verdict
from workflows import search_attributes
from workflows.await_job import activity_id, workflow_id
from workflows.hook_delivery import HookDeliveryWorkflow, delivery_workflow_id
from workflows.message_delivery import MessageDeliveryWorkflow, message_workflow_id
from workflows.pipeline import PipelineWorkflow
from workflows.ports import NEWEST_NAMES
from workflows.resource_group import ResourceGroupWorkflow, group_workflow_id
from workflows.runs import Runs
from workflows.status_report import StatusReportWorkflow, report_workflow_id

RPC: Final = timedelta(seconds=5)


def attributes(facts: PipelineFacts) -> TypedSearchAttributes:
    """The search attributes of a pipeline's workflow."""
    return TypedSearchAttributes(
        [
            SearchAttributePair(search_attributes.PROJECT, facts.project[:255]),
            SearchAttributePair(search_attributes.REF, facts.ref[:255]),
            SearchAttributePair(search_attributes.SOURCE, facts.source),
            SearchAttributePair(search_attributes.STATUS, search_attributes.shown_status(Status(facts.status))),
            SearchAttributePair(search_attributes.PIPELINE_ID, facts.pipeline_id),
        ]
    )


def summary(facts: PipelineFacts) -> str:
    """One line for lists in the Temporal Web UI (400 bytes at most)."""
    line = f"{facts.project[:120]} · {facts.ref[:80]} · {facts.sha[:8]} · {facts.title}"
    return line.encode()[:390].decode(errors="ignore")


def telling_queue(task_queue: str) -> str:
    """The task queue of what webhooks and forges are told, beside that of pipelines."""
    return f"{task_queue}-telling"


class Pipelines:
    """Pipeline workflows of one Temporal namespace."""

    def __init__(self, client: Client, task_queue: str) -> None:
        """Use a connected client."""
        self._client = client
        self._queue = task_queue
        self.runs = Runs(client)

    def handle(self, pipeline_id: int) -> WorkflowHandle[PipelineWorkflow, str]:
        """The workflow of a pipeline, whatever its run."""
        return self._client.get_workflow_handle_for(PipelineWorkflow.run, workflow_id(pipeline_id))

    async def start(self, facts: PipelineFacts) -> None:
        """Start a pipeline once. Raises `WorkflowAlreadyStartedError` when it was started before."""
        await self._client.start_workflow(
            PipelineWorkflow.run,
            PipelineInput(facts.pipeline_id, names=NEWEST_NAMES),
            id=workflow_id(facts.pipeline_id),
            task_queue=self._queue,
            id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
            search_attributes=attributes(facts),
            static_summary=summary(facts),
            rpc_timeout=RPC,
        )

    async def start_anew(self, facts: PipelineFacts) -> None:
        """Start a pipeline whatever Temporal knows of it: a run that is open is ended first."""
        await self._client.start_workflow(
            PipelineWorkflow.run,
            PipelineInput(facts.pipeline_id, names=NEWEST_NAMES),
            id=workflow_id(facts.pipeline_id),
            task_queue=self._queue,
            id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
            id_conflict_policy=WorkflowIDConflictPolicy.TERMINATE_EXISTING,
            search_attributes=attributes(facts),
            static_summary=summary(facts),
            rpc_timeout=RPC,
        )

    async def signal(self, facts: PipelineFacts, name: str, operation: Operation) -> None:
        """Send a signal; a pipeline whose workflow is closed or unknown is started again with it."""
        await self._client.start_workflow(
            PipelineWorkflow.run,
            PipelineInput(facts.pipeline_id, names=NEWEST_NAMES),
            id=workflow_id(facts.pipeline_id),
            task_queue=self._queue,
            id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
            id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
            search_attributes=attributes(facts),
            static_summary=summary(facts),
            start_signal=name,
            start_signal_args=[operation.as_sent()],
            rpc_timeout=RPC,
        )

    async def ask(self, facts: PipelineFacts, name: str, operation: Operation, timeout: timedelta) -> Answer:
        """Send an update and wait for its answer; starts a closed pipeline again. `timeout` is that of each call."""
        start = WithStartWorkflowOperation(
            PipelineWorkflow.run,
            PipelineInput(facts.pipeline_id, names=NEWEST_NAMES),
            id=workflow_id(facts.pipeline_id),
            task_queue=self._queue,
            id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
            id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
            search_attributes=attributes(facts),
            static_summary=summary(facts),
        )
        started = asyncio.ensure_future(start.workflow_handle())
        try:
            answer: Answer = await self._client.execute_update_with_start_workflow(
                name,
                operation.as_sent(),
                start_workflow_operation=start,
                result_type=Answer,
                id=operation.key,
                rpc_timeout=timeout,
            )
        finally:  # somebody must have looked at it, or asyncio logs what has become of it
            started.cancel()
            await asyncio.gather(started, return_exceptions=True)
        return answer

    async def look(self, group_id: int) -> None:
        """Let a resource group look who comes next; its workflow is started if none runs."""
        await self._client.start_workflow(
            ResourceGroupWorkflow.run,
            GroupInput(group_id),
            id=group_workflow_id(group_id),
            task_queue=self._queue,
            id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
            id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
            start_signal="look",
            rpc_timeout=RPC,
        )

    async def deliver(self, delivery_id: int) -> None:
        """Have an event delivered to a webhook; one whose workflow runs is on its way already."""
        await self._client.start_workflow(
            HookDeliveryWorkflow.run,
            DeliverHook(delivery_id),
            id=delivery_workflow_id(delivery_id),
            task_queue=telling_queue(self._queue),
            id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
            id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
            rpc_timeout=RPC,
        )

    async def send(self, message_id: int) -> None:
        """Have a message delivered to somebody; one whose workflow runs is on its way already."""
        await self._client.start_workflow(
            MessageDeliveryWorkflow.run,
            DeliverMessage(message_id),
            id=message_workflow_id(message_id),
            task_queue=telling_queue(self._queue),
            id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
            id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
            rpc_timeout=RPC,
        )

    async def report(self, report_id: int) -> None:
        """Have a forge told the newest status of a commit; the workflow that does it is started if none runs."""
        await self._client.start_workflow(
            StatusReportWorkflow.run,
            ReportCommit(report_id),
            id=report_workflow_id(report_id),
            task_queue=telling_queue(self._queue),
            id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
            id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
            start_signal="look",
            rpc_timeout=RPC,
        )

    async def complete(self, pipeline_id: int, verdict: Verdict, room: str = "") -> None:
        """Ring the bell: the activity that waits for a job gets its verdict, always as a completion.

        `room` is the workflow that waits for the job, if it is not the pipeline's.
        """
        activity = self._client.get_async_activity_handle(
            workflow_id=room or workflow_id(pipeline_id), run_id=None, activity_id=activity_id(verdict.job_id)
        )
        await activity.complete(verdict, rpc_timeout=RPC)

    async def show_holder(self, pipeline_id: int, job_id: int, holder: str, hand_out: int, room: str = "") -> None:
        """Let the Temporal Web UI show which runner holds a job; nothing depends on it."""
        activity = self._client.get_async_activity_handle(
            workflow_id=room or workflow_id(pipeline_id), run_id=None, activity_id=activity_id(job_id)
        )
        await activity.heartbeat({"runner": holder, "hand_out": hand_out}, rpc_timeout=RPC)
