"""Shows in the Temporal Web UI which runner holds a job: a best-effort heartbeat that nothing depends on.

A heartbeat costs Temporal a write, so only a few a second are sent; the rest are left out.
"""

import asyncio
from contextlib import suppress
from typing import Final

from temporalio.client import AsyncActivityCancelledError
from temporalio.service import RPCError

from domain.errors import Unavailable
from workflows.handles import Pipelines

MAX_CONCURRENT: Final = 1


class Holders:
    """Sends heartbeats in the background, as long as there are not too many."""

    def __init__(self) -> None:
        """Begin idle and without Temporal."""
        self.pipelines: Pipelines | None = None
        self._sending: set[asyncio.Task[None]] = set()

    def show(self, pipeline_id: int, job_id: int, holder: str, hand_out: int, room: str) -> None:
        """Send a heartbeat unless others are on their way; `room` as `models.tables.pipelines.Job` has it."""
        if self.pipelines is None or len(self._sending) >= MAX_CONCURRENT:
            return
        task = asyncio.create_task(self._send(self.pipelines, pipeline_id, job_id, holder, hand_out, room))
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    @staticmethod
    async def _send(pipelines: Pipelines, pipeline_id: int, job_id: int, holder: str, hand_out: int, room: str) -> None:
        # Temporal takes the heartbeat of an activity that an operator has paused or reset, and answers with a cancel.
        with suppress(RPCError, AsyncActivityCancelledError, Unavailable):
            await pipelines.show_holder(pipeline_id, job_id, holder, hand_out, room)
        await asyncio.sleep(1)  # at most one a second, also of those that Temporal refuses
