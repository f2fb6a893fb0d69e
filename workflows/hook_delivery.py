"""Workflow `HookDelivery`: one event on its way to one webhook, for days if need be.

SQL holds the event, its state and every attempt; this only sees to it that there is a next one. It may be killed,
terminated or run twice: a delivery that has ended is left alone.
"""

from datetime import timedelta
from typing import Final

from temporalio import workflow
from temporalio.common import RetryPolicy

with workflow.unsafe.imports_passed_through():
    from domain.messages import DeliverHook
    from workflows.ports import HEARD_WITHIN, HookPort

ATTEMPT_LIMIT: Final = timedelta(seconds=60)
"""For one attempt: far more than the time limit of the call itself."""
ATTEMPTS: Final = RetryPolicy(initial_interval=timedelta(seconds=5), backoff_coefficient=1.0)
"""An attempt that failed says itself when the next one is; this is for one whose worker died."""


def delivery_workflow_id(delivery_id: int) -> str:
    """The id of a delivery's workflow."""
    return f"hook-delivery-{delivery_id}"


@workflow.defn(name="HookDelivery")
class HookDeliveryWorkflow:
    """One delivery until it has ended."""

    @workflow.run
    async def run(self, order: DeliverHook) -> str:
        """Try until it is delivered or given up; the state."""
        return await workflow.execute_activity_method(
            HookPort.deliver_hook,
            order,
            start_to_close_timeout=ATTEMPT_LIMIT,
            heartbeat_timeout=HEARD_WITHIN,
            retry_policy=ATTEMPTS,
            summary="deliver",
        )
