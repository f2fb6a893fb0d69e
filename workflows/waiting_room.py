"""Workflow `WaitingRoom`: waits for up to 200 jobs of a large pipeline, decides nothing, and tells how they ended.

One workflow with thousands of open activities is slow, and Temporal permits 2,000 of them. A room that finds its
pipeline's workflow gone keeps what it knows until a new run asks for it (docs/seam.md, "Waiting rooms").
"""

import asyncio
from collections.abc import Callable
from typing import Any

from temporalio import workflow
from temporalio.exceptions import FailureError

with workflow.unsafe.imports_passed_through():
    from datetime import timedelta

    from domain.messages import LetGo, RoomInput, RoomOutcomes, RoomReady
    from domain.pipelines.verdict import Verdict
    from workflows.await_job import Waiting, verdict_of, wait_for, workflow_id

KEEP = timedelta(hours=1)
"""So long a room whose jobs have all ended waits for a run of its pipeline that wants to know."""


@workflow.defn(name="WaitingRoom")
class WaitingRoomWorkflow:
    """One room, from its first job until the pipeline knows of the end of the last."""

    @workflow.init
    def __init__(self, order: RoomInput) -> None:
        """Exist before the first message arrives."""
        self._order = order
        self._waiting: dict[int, Waiting] = {}
        self._untold: dict[int, Verdict] = {}
        self._told: dict[int, Verdict] = {}
        self._is_asked = False

    @workflow.signal
    def report(self) -> None:
        """A new run of the pipeline's workflow wants to know all that happened here."""
        self._is_asked = True
        self._untold = self._told | self._untold
        self._told = {}

    @workflow.signal
    def let_go(self, order: LetGo) -> None:
        """Nobody needs to wait for these jobs any more."""
        for job_id in order.job_ids:
            self._untold.pop(job_id, None)
            self._told.pop(job_id, None)
            waiting = self._waiting.pop(job_id, None)
            if waiting is not None:
                waiting.cancel()

    @workflow.run
    async def run(self, order: RoomInput) -> None:
        """Wait for every job; tell the pipeline of several ends at once where they come together."""
        for job_id in order.job_ids:
            self._waiting[job_id] = wait_for(job_id, f"job {job_id}")
            self._waiting[job_id].add_done_callback(self._ended(job_id))
        await self._tell("room_ready", RoomReady(workflow.info().workflow_id))
        while True:
            await workflow.wait_condition(lambda: bool(self._untold) or not self._waiting)
            self._is_asked = False
            if self._untold and not await self._report_untold() and not await self._somebody_asks():
                return
            if not self._waiting and not self._untold:
                return

    def _ended(self, job_id: int) -> Callable[["asyncio.Future[Verdict]"], None]:
        def ended(done: "asyncio.Future[Verdict]") -> None:
            if self._waiting.pop(job_id, None) is not None and not done.cancelled():
                self._untold[job_id] = verdict_of(job_id, done)

        return ended

    async def _report_untold(self) -> bool:
        """Whether the pipeline's workflow took what it does not know yet."""
        told = dict(self._untold)
        room = workflow.info().workflow_id
        if not await self._tell("room_outcomes", RoomOutcomes(room, tuple(told.values()))):
            return False
        for job_id, verdict in told.items():
            if self._untold.get(job_id) is verdict and not self._is_asked:
                del self._untold[job_id]
                self._told[job_id] = verdict
        return True

    async def _somebody_asks(self) -> bool:
        """The pipeline's workflow is gone: wait for another run of it, or for a further job to end."""
        known = len(self._untold)
        limit = None if self._waiting else KEEP
        try:
            await workflow.wait_condition(lambda: self._is_asked or len(self._untold) != known, timeout=limit)
        except TimeoutError:
            return False
        return True

    async def _tell(self, name: str, message: Any) -> bool:
        pipeline = workflow.get_external_workflow_handle(workflow_id(self._order.pipeline_id))
        try:
            await pipeline.signal(name, message)
        except FailureError:
            return False
        return True
