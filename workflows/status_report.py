"""Workflow `StatusReport`: tells a forge the newest status of a commit, one call at a time.

There is one workflow for each commit and forge, so no two calls are ever on their way at the same time, and each says
what SQL says when it is made: an older status never comes after a newer one.
"""

from datetime import timedelta
from typing import Final

from temporalio import workflow
from temporalio.common import RetryPolicy

with workflow.unsafe.imports_passed_through():
    from domain.messages import ReportCommit
    from workflows.ports import HEARD_WITHIN, ReportPort

CALL_LIMIT: Final = timedelta(seconds=60)
"""For one call: far more than its own time limit, so that one is over when the next begins."""
CALLS: Final = RetryPolicy(initial_interval=timedelta(seconds=5), backoff_coefficient=1.0)
"""A call that failed says itself when the next one is; this is for one whose worker died."""


def report_workflow_id(report_id: int) -> str:
    """The id of a report's workflow."""
    return f"status-report-{report_id}"


@workflow.defn(name="StatusReport")
class StatusReportWorkflow:
    """What a forge is told of a commit, for as long as there is something new."""

    @workflow.init
    def __init__(self, order: ReportCommit) -> None:
        """Exist before the first message arrives."""
        self._order = order
        self._is_asked = False

    @workflow.signal(description="There is something new to be told; does no harm at any time.")
    def look(self) -> None:
        """Something changed."""
        self._is_asked = True

    @workflow.run
    async def run(self, order: ReportCommit) -> None:
        """Tell until there is nothing new."""
        is_more = True
        while is_more or self._is_asked:
            self._is_asked = False
            is_more = await self._tell()
            if workflow.info().is_continue_as_new_suggested():
                workflow.continue_as_new(order)

    async def _tell(self) -> bool:
        """Tell once; whether there is more. A call that waits for its next attempt tells then what is new by then."""
        return await workflow.execute_activity_method(
            ReportPort.report_commit,
            self._order,
            start_to_close_timeout=CALL_LIMIT,
            heartbeat_timeout=HEARD_WITHIN,
            retry_policy=CALLS,
            summary="report",
        )
