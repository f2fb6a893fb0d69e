"""Finds the coverage in the log of an ended job, from its end."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final

import structlog

from domain.errors import Invalid
from domain.pipelines.coverage import CoverageSearch
from models.repositories.logs import traces
from models.repositories.logs.traces import EndedTrace
from models.session import Database

PART: Final = 1024 * 1024
_THREAD: Final = ThreadPoolExecutor(1, thread_name_prefix="coverage")
"""Of its own: a long log in which nothing is found takes seconds."""

log = structlog.get_logger()


async def coverage_of(database: Database, row: EndedTrace) -> float | None:
    """The coverage of a job, by its frozen log (`traces.to_store`); None if it has no pattern or nothing matches."""
    if not row.coverage_pattern:
        return None
    try:
        search = CoverageSearch(row.coverage_pattern)
    except Invalid as error:
        log.warning("the coverage of a job cannot be looked for", job=row.job_id, error=str(error))
        return None
    end = row.size
    while end > 0 and not search.gave_up:
        start = max(0, end - PART)
        async with database.read() as connection:
            part = await traces.read(connection, row.job_id, row.generation, start, end - start)
        looking = partial(search.look, part, is_first=not start)
        found = await asyncio.get_running_loop().run_in_executor(_THREAD, looking)
        if found is not None:
            return found
        end = start
    if search.gave_up:
        log.warning("the coverage of a job was not found: its pattern has too much to search", job=row.job_id)
    return None
