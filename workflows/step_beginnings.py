"""Attempts that begin at a step of their job: what they need is kept before the workflow decides.

Nothing of what the steps before gave comes through Temporal: it waits in SQL under the key of the command.
"""

from temporalio import workflow
from temporalio.exceptions import ActivityError

with workflow.unsafe.imports_passed_through():
    from domain.messages import Command, PinSteps
    from workflows.ports import PIN_RETRY, SENT_LIMIT, StepPort


async def refusal_to_begin(pipeline_id: int, command: Command) -> str:
    """Why the attempt that a command asks for cannot begin at its step; empty if it can."""
    if command.job_id is None:
        return ""
    order = PinSteps(pipeline_id, command.key, command.job_id, command.from_step)
    try:
        pinned = await workflow.execute_activity_method(
            StepPort.pin_steps,
            order,
            start_to_close_timeout=SENT_LIMIT,
            retry_policy=PIN_RETRY,
            summary=f"{command.job_id} again from a step",
        )
    except ActivityError:
        return (
            "The results of the steps before could not be read just now. Try again, or retry the job without from_step."
        )
    return pinned.refused
