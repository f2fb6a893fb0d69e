"""Heartbeats: Temporal learns within seconds that the process is gone that carried out an activity."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from temporalio import activity

EVERY: Final = 3.0
"""Seconds; a workflow that wants to hear them waits for some of them (`workflows.ports.HEARD_WITHIN`)."""


@asynccontextmanager
async def beating() -> AsyncIterator[None]:
    """Beat while the block runs. Outside of an activity, as in a test, nothing beats."""
    if not activity.in_activity():
        yield
        return
    task = asyncio.create_task(_beat())
    try:
        yield
    finally:
        task.cancel()


async def _beat() -> None:
    while True:
        activity.heartbeat()
        await asyncio.sleep(EVERY)
