"""What Temporal says of the runs of pipeline workflows, for the reconciler. Nothing else may rest on it."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import HistoryEventFilterType, WorkflowExecutionStatus
from temporalio.api.workflowservice.v1 import (
    DescribeWorkflowExecutionRequest,
    GetWorkflowExecutionHistoryRequest,
    ListWorkflowExecutionsRequest,
    TerminateWorkflowExecutionRequest,
)
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from workflows.await_job import workflow_id

PAGE: Final = 1_000
"""Temporal gives no more workflows at once."""
RPC: Final = timedelta(seconds=5)

_RUNNING: Final = 'WorkflowType = "Pipeline" AND ExecutionStatus = "Running"'
_OURS: Final = (
    'WorkflowType IN ("Pipeline", "WaitingRoom", "ResourceGroup", "ScheduledPipeline", "HookDelivery", "StatusReport") '
    'AND ExecutionStatus = "Running"'
)
_PREFIX: Final = "pipeline-"
_OPEN: Final = frozenset(
    {
        WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_RUNNING,
        WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_PAUSED,
        WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW,
    }
)


@dataclass(frozen=True, slots=True)
class Run:
    """The latest run of a pipeline's workflow. `status` is Temporal's word in small letters, such as `timed_out`."""

    id: str
    status: str
    is_open: bool

    @property
    def is_terminated(self) -> bool:
        """Whether somebody has terminated it by hand."""
        return self.status == "terminated"


class Runs:
    """Looks at pipeline workflows of one namespace. Raises `RPCError` while Temporal is away."""

    def __init__(self, client: Client) -> None:
        """Use a connected client."""
        self._service = client.workflow_service
        self._namespace = client.namespace

    async def running(self) -> set[int]:
        """The pipelines whose workflow runs, as visibility has it: a hint that may be some seconds old."""
        found: set[int] = set()
        token = b""
        while True:
            request = ListWorkflowExecutionsRequest(
                namespace=self._namespace, query=_RUNNING, page_size=PAGE, next_page_token=token
            )
            page = await self._service.list_workflow_executions(request, timeout=RPC)
            names = (item.execution.workflow_id.removeprefix(_PREFIX) for item in page.executions)
            found.update(int(name) for name in names if name.isdecimal())
            token = page.next_page_token
            if not token:
                return found

    async def end_all(self, reason: str) -> int:
        """Terminate every workflow of ours that runs, as visibility has it; how many."""
        ended, token = 0, b""
        while True:
            request = ListWorkflowExecutionsRequest(
                namespace=self._namespace, query=_OURS, page_size=PAGE, next_page_token=token
            )
            page = await self._service.list_workflow_executions(request, timeout=RPC)
            for item in page.executions:
                ended += await self._end(item.execution, reason)
            token = page.next_page_token
            if not token:
                return ended

    async def _end(self, execution: WorkflowExecution, reason: str) -> bool:
        request = TerminateWorkflowExecutionRequest(
            namespace=self._namespace, workflow_execution=execution, reason=reason, identity="perdure"
        )
        try:
            await self._service.terminate_workflow_execution(request, timeout=RPC)
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise
            return False  # it has ended since it was listed
        return True

    async def latest(self, pipeline_id: int) -> Run | None:
        """The latest run of a pipeline's workflow; None when Temporal knows of none."""
        execution = WorkflowExecution(workflow_id=workflow_id(pipeline_id))
        request = DescribeWorkflowExecutionRequest(namespace=self._namespace, execution=execution)
        try:
            info = (await self._service.describe_workflow_execution(request, timeout=RPC)).workflow_execution_info
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return None
            raise
        name = WorkflowExecutionStatus.Name(info.status).removeprefix("WORKFLOW_EXECUTION_STATUS_")
        return Run(info.execution.run_id, name.lower(), info.status in _OPEN)

    async def termination(self, pipeline_id: int, run_id: str) -> str:
        """Who has terminated a run, and why: the words that its pipeline shows. Without them if they are not known."""
        request = GetWorkflowExecutionHistoryRequest(
            namespace=self._namespace,
            execution=WorkflowExecution(workflow_id=workflow_id(pipeline_id), run_id=run_id),
            history_event_filter_type=HistoryEventFilterType.HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT,
        )
        try:
            events = list((await self._service.get_workflow_execution_history(request, timeout=RPC)).history.events)
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise
            events = []
        said = [event.workflow_execution_terminated_event_attributes for event in events]
        who = next((f" by {one.identity[:200]}" for one in said if one.identity), "")
        why = next((f": {one.reason[:500]}" for one in said if one.reason), "")
        return f"Terminated in Temporal{who}{why}"
