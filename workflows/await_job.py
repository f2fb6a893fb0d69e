"""Activity `await_job`: how a workflow waits for a job that a runner carries out, and what it makes of its end.

Source: docs/reference/temporal.md, "Activities completed from outside".
"""

import asyncio
from typing import Any, TypeAlias

from temporalio import workflow
from temporalio.common import RetryPolicy

with workflow.unsafe.imports_passed_through():
    from datetime import timedelta

    from domain.messages import AwaitJob
    from domain.pipelines.status import Status
    from domain.pipelines.verdict import UNKNOWN_FAILURE, Verdict, read_verdict

Waiting: TypeAlias = "workflow.ActivityHandle[Any]"

_LIMIT = timedelta(days=90)
"""An alarm for a job that nobody ever ended, never a decision."""


def workflow_id(pipeline_id: int) -> str:
    """The id of a pipeline's workflow."""
    return f"pipeline-{pipeline_id}"


def activity_id(job_id: int) -> str:
    """The id of the activity that waits for a job; used once, since a retry is another job row."""
    return f"job-{job_id}"


def wait_for(job_id: int, summary: str) -> Waiting:
    """Begin to wait for a job; the outbox relay ends it by its id. `summary` is shown beside it.

    It is named without its type: a result that somebody has written by hand and that is no `Verdict` would fail the
    workflow's task again and again.
    """
    return workflow.start_activity(
        "await_job",
        AwaitJob(job_id),
        activity_id=activity_id(job_id),
        start_to_close_timeout=_LIMIT,
        retry_policy=RetryPolicy(maximum_attempts=1),
        summary=summary[:200],
    )


def verdict_of(job_id: int, done: "asyncio.Future[Any]") -> Verdict:
    """How a job ended. Whoever completes or fails the activity by hand ends this job, whatever they wrote."""
    if done.exception() is None:
        return read_verdict(job_id, done.result())
    return Verdict(job_id, Status.FAILED, reason=UNKNOWN_FAILURE)
