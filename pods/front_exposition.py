"""The front's metrics, told on a port of their own; nothing that passes through the front leads there."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator

from metrics.exposition import Exposition, serve
from metrics.front_metrics import FrontMetrics
from settings import Settings

log = logging.getLogger("perdure.front")


@contextlib.asynccontextmanager
async def telling(metrics: FrontMetrics, settings: Settings) -> AsyncIterator[None]:
    """Tell them at `metrics_host:front_metrics_port` while the context is open, and watch the event loop."""

    def taken(error: OSError) -> None:
        log.warning("metrics are not told; another PERDURE_FRONT_METRICS_PORT may help: %s", error)

    tasks = [asyncio.create_task(metrics.watch_event_loop())]
    if port := settings.front_metrics_port:
        tasks.append(asyncio.create_task(serve(Exposition(metrics.registry), settings.metrics_host, port, taken)))
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
