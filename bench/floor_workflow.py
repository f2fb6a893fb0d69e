"""The workflow of the floor: the shape of a pipeline with nothing in it."""

import asyncio
from collections.abc import Callable
from datetime import timedelta

from temporalio import activity, workflow


@workflow.defn(name="Floor")
class FloorWorkflow:
    """Stages of activities that somebody outside completes; a stage begins when the one before it is complete."""

    @workflow.run
    async def run(self, stages: int, jobs: int) -> None:
        """Run so many stages of so many jobs."""
        for stage in range(stages):
            waiting = [
                workflow.start_activity(
                    "await_nothing",
                    activity_id=f"job-{stage}-{number}",
                    start_to_close_timeout=timedelta(days=90),
                )
                for number in range(jobs)
            ]
            await asyncio.gather(*waiting)


class FloorActivities:
    """The activity of the floor."""

    def __init__(self, started: Callable[[str, str], None]) -> None:
        """`started` is told the workflow's id and the activity's id."""
        self._started = started

    @activity.defn
    async def await_nothing(self) -> None:
        """Leave the completion to somebody else."""
        info = activity.info()
        assert info.workflow_id is not None
        self._started(info.workflow_id, info.activity_id)
        activity.raise_complete_async()
