"""Workflow `MessageDelivery`: one message on its way to one recipient, for days if need be.

As with `HookDelivery`, SQL holds the message, its state and every attempt; this only sees to it that there is a next
one. It may be killed, terminated or run twice: a message that has ended is left alone.
"""

from datetime import timedelta
from typing import Final

from temporalio import workflow
from temporalio.common import RetryPolicy

with workflow.unsafe.imports_passed_through():
    from domain.messages import DeliverMessage
    from workflows.ports import HEARD_WITHIN, MessagePort

ATTEMPT_LIMIT: Final = timedelta(seconds=300)
"""For one attempt: far more than the time limit of handing a message over."""
ATTEMPTS: Final = RetryPolicy(initial_interval=timedelta(seconds=5), backoff_coefficient=1.0)
"""An attempt that failed says itself when the next one is; this is for one whose worker died."""


def message_workflow_id(message_id: int) -> str:
    """The id of a message's workflow."""
    return f"message-{message_id}"


@workflow.defn(name="MessageDelivery")
class MessageDeliveryWorkflow:
    """One message until it has ended."""

    @workflow.run
    async def run(self, order: DeliverMessage) -> str:
        """Try until it is delivered or given up; the state."""
        return await workflow.execute_activity_method(
            MessagePort.deliver_message,
            order,
            start_to_close_timeout=ATTEMPT_LIMIT,
            heartbeat_timeout=HEARD_WITHIN,
            retry_policy=ATTEMPTS,
            summary="deliver",
        )
