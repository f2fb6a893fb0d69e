"""Workflow `ScheduledPipeline`: one tick of a pipeline schedule, open until it is known what became of it.

Temporal starts it when the tick is due. What the tick does is decided and recorded in SQL by one activity, which is
tried again until there is a last word; its result is the workflow's.
"""

from datetime import UTC, datetime
from typing import Final

from temporalio import workflow
from temporalio.common import SearchAttributeKey

with workflow.unsafe.imports_passed_through():
    from domain.schedules.ticks import ScheduleInput, Tick, TickResult
    from workflows.ports import TICK_LIMIT, TICK_RETRY, SchedulePort

DUE_AT: Final = SearchAttributeKey.for_datetime("TemporalScheduledStartTime")
"""When the tick should have been: Temporal writes it, also for one that it makes up for."""


def tick_workflow_id(schedule_id: int) -> str:
    """The id of a tick's workflow; Temporal puts the time behind it."""
    return f"scheduled-pipeline-{schedule_id}"


@workflow.defn(name="ScheduledPipeline")
class ScheduledPipelineWorkflow:
    """One tick."""

    @workflow.run
    async def run(self, order: ScheduleInput) -> TickResult:
        """Have the tick carried out; give back what became of it."""
        result: TickResult = await workflow.execute_activity_method(
            SchedulePort.carry_out_tick,
            Tick(order.schedule_id, order.revision, _due_at()),
            start_to_close_timeout=TICK_LIMIT,
            retry_policy=TICK_RETRY,
            summary="make the pipeline of this tick, once",
        )
        workflow.set_current_details(
            f"{result.outcome} {result.reason}".strip()
            if result.pipeline_id is None
            else f"{result.outcome}: pipeline {result.pipeline_id} {result.reason}".strip()
        )
        return result


def _due_at() -> datetime:
    """The nominal time; that of the start for a workflow that no schedule has started."""
    found = workflow.info().typed_search_attributes.get(DUE_AT)
    return (found or workflow.info().start_time.replace(microsecond=0)).astimezone(UTC)
