"""After a restore: Temporal is brought to what the database says, before anybody works with it.

A Temporal that has survived may be ahead of the database: its workflows know jobs as ended that are open here, and
pipelines that do not exist. None of that is taken over. Every workflow of ours is ended, and each pipeline that has not
ended is started anew: a run begins by reading SQL. An empty Temporal is the same with nothing to end. It may be done
twice: a process that is killed meanwhile leaves it to the next one, and two that do it at once only do it twice.
"""

import asyncio
from typing import Final

import structlog

from models.repositories.installation import installations
from models.repositories.pipelines import pipelines, unfinished
from models.session import Database
from workflows.handles import Pipelines

MAX_CONCURRENT: Final = 20
"""So many workflows are started in parallel."""
REASON: Final = "Perdure was restored from a backup."

log = structlog.get_logger()


async def begin_anew(database: Database, workflows: Pipelines) -> int:
    """End what runs, start what has not ended; how many that are. Raises `RPCError` while Temporal is away."""
    ended = await workflows.runs.end_all(REASON)
    last = started = 0
    while True:
        async with database.read() as connection:
            page = await unfinished.all_after(connection, last)
            known = await pipelines.facts_of(connection, page) if page else {}
        if not page:
            break
        for start in range(0, len(page), MAX_CONCURRENT):
            batch = page[start : start + MAX_CONCURRENT]
            await asyncio.gather(*(workflows.start_anew(known[pipeline_id]) for pipeline_id in batch))
        started += len(page)
        last = page[-1]
    async with database.write() as connection:
        await installations.temporal_agrees(connection)
    log.warning("restored from a backup: Temporal begins anew", ended=ended, started=started)
    return started
