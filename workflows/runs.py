"""What Temporal says of the runs of pipeline workflows, for the reconciler. Nothing else may rest on it."""

import json
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

from domain.pipelines.retry_window import UNSUCCESSFUL
from workflows.await_job import workflow_id
from workflows.search_attributes import STATUS

PAGE: Final = 1_000
"""Temporal gives no more workflows at once."""
RPC: Final = timedelta(seconds=5)

MOVED: Final = "Its organisation has moved to another pod."
"""Why workflows are ended that nobody ended by hand: should the organisation come back, they are begun anew."""

_IS_OPEN: Final = "CloseTime IS NULL"
"""Of a workflow that an operator has paused too: its `ExecutionStatus` is `Paused`, not `Running`."""
_OPEN_PIPELINES: Final = f'WorkflowType = "Pipeline" AND {_IS_OPEN}'
_ENDED: Final = ", ".join(f'"{status}"' for status in sorted(UNSUCCESSFUL))
_AT_WORK: Final = f"{_OPEN_PIPELINES} AND ({STATUS.name} IS NULL OR {STATUS.name} NOT IN ({_ENDED}))"
_IN_WINDOW: Final = f"{_OPEN_PIPELINES} AND {STATUS.name} IN ({_ENDED})"
_OURS: Final = (
    'WorkflowType IN ("Pipeline", "WaitingRoom", "ResourceGroup", "ScheduledPipeline", "HookDelivery", '
    f'"MessageDelivery", "StatusReport") AND {_IS_OPEN}'
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
    """The latest run of a pipeline's workflow. `status` is Temporal's word in small letters, such as `timed_out`.

    `in_window` says that it takes its pipeline to be over, and waits for nothing but a retry.
    """

    id: str
    status: str
    is_open: bool
    in_window: bool = False

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

    async def opened(self) -> set[int]:
        """The pipelines whose workflow is open, also those that only wait for a retry; as visibility has it."""
        return await self._listed(_OPEN_PIPELINES)

    async def at_work(self) -> set[int]:
        """The pipelines whose workflow is open, maybe paused, and does not only wait for a retry.

        As visibility has it: a hint that may be some seconds old.
        """
        return await self._listed(_AT_WORK)

    async def in_window(self, *, not_on: str) -> set[int]:
        """The pipelines whose workflow waits for nothing but a retry, on another build of the workers than `not_on`.

        As visibility has it. A build is written `deployment:build`, as Temporal does.
        """
        return await self._listed(f'{_IN_WINDOW} AND TemporalWorkerDeploymentVersion != "{not_on}"')

    async def _listed(self, query: str) -> set[int]:
        found: set[int] = set()
        token = b""
        while True:
            request = ListWorkflowExecutionsRequest(
                namespace=self._namespace, query=query, page_size=PAGE, next_page_token=token
            )
            page = await self._service.list_workflow_executions(request, timeout=RPC)
            names = (item.execution.workflow_id.removeprefix(_PREFIX) for item in page.executions)
            found.update(int(name) for name in names if name.isdecimal())
            token = page.next_page_token
            if not token:
                return found

    async def end_all(self, reason: str) -> int:
        """Terminate every workflow of ours that is open, as visibility has it; how many."""
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

    async def end(self, workflow_name: str, reason: str) -> bool:
        """Terminate a workflow by its id; whether it ran."""
        return await self._end(WorkflowExecution(workflow_id=workflow_name), reason)

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
        shown = info.search_attributes.indexed_fields.get(STATUS.name)
        in_window = info.status in _OPEN and shown is not None and json.loads(shown.data) in UNSUCCESSFUL
        return Run(info.execution.run_id, name.lower(), info.status in _OPEN, in_window)

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
