"""The workflows of the floor: the shapes of pipelines with nothing in them."""

import asyncio
from collections.abc import Callable
from datetime import timedelta

from temporalio import activity, workflow


@workflow.defn(name="Floor")
class FloorWorkflow:
    """Stages of activities that somebody outside completes; a stage begins when the one before it is complete."""

    @workflow.run
    async def run(self, widths: list[int]) -> None:
        """Run a stage for each width, which says how many jobs it has."""
        for stage, width in enumerate(widths):
            await asyncio.gather(*(_start(f"job-{stage}-{number}") for number in range(width)))


@workflow.defn(name="FloorGraph")
class FloorGraph:
    """A graph of activities that somebody outside completes; each begins when those that it needs are complete."""

    @workflow.run
    async def run(self, needs: list[list[int]]) -> None:
        """Run a job for each list, which holds the positions of earlier jobs."""
        missing = [len(each) for each in needs]
        followers: list[list[int]] = [[] for _ in needs]
        for number, each in enumerate(needs):
            for need in each:
                followers[need].append(number)
        left = len(needs)

        def start(number: int) -> None:
            _start(f"job-{number}").add_done_callback(lambda _: ended(number))

        def ended(number: int) -> None:
            nonlocal left
            left -= 1
            for follower in followers[number]:
                missing[follower] -= 1
                if missing[follower] == 0:
                    start(follower)

        for number, each in enumerate(needs):
            if not each:
                start(number)
        await workflow.wait_condition(lambda: left == 0)


def _start(name: str) -> "workflow.ActivityHandle[None]":
    return workflow.start_activity("await_nothing", activity_id=name, start_to_close_timeout=timedelta(days=90))


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
