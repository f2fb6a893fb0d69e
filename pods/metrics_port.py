"""The metrics of a process that serves others, told on a port of their own: nothing that it serves leads there."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Sequence

from metrics.exposition import Exposition, Prepare, serve
from metrics.process_metrics import ProcessMetrics

log = logging.getLogger("perdure.metrics")


@contextlib.asynccontextmanager
async def telling(
    metrics: ProcessMetrics, host: str, port: int, setting: str, prepare: Sequence[Prepare] = ()
) -> AsyncIterator[None]:
    """Tell them at this address while the context is open, and watch the event loop; port 0: nobody is told.

    `setting` is the variable that says the port; `prepare` is called before each reading, and never raises.
    """

    def taken(error: OSError) -> None:
        log.warning("metrics are not told; another %s may help: %s", setting, error)

    tasks = [asyncio.create_task(metrics.watch_event_loop())]
    if port:
        tasks.append(asyncio.create_task(serve(Exposition(metrics.registry, prepare), host, port, taken)))
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
