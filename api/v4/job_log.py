"""Reading the log of a job, wherever its bytes are: in the database, or moved to the store meanwhile."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Final

from api.services import Services
from domain.object_keys import trace_key
from models.repositories import traces

PART: Final = 256 * 1024
"""Bytes that are read from the database at a time."""


@dataclass(frozen=True, slots=True)
class Log:
    """A log as it was at one moment: `size` bytes of one `generation`; `frozen` when nothing can follow."""

    project_id: int
    job_id: int
    generation: int
    size: int
    frozen: bool
    stored: bool


async def log_of(services: Services, job: Any) -> Log:
    """The log of a job; an empty one before any runner has written."""
    async with services.database.read() as connection:
        row = await traces.head(connection, job.id)
    return Log(job.project_id, job.id, row.generation, row.size, row.frozen, row.stored)


async def read_log(services: Services, log: Log, start: int = 0, end: int | None = None) -> AsyncIterator[bytes]:
    """The bytes from `start` up to, without, `end` (None: all that were there when `log` was read).

    Ends early when the runner begins to send the log again: those bytes belong to nobody then.
    """
    position, end = start, log.size if end is None else min(end, log.size)
    while position < end and not log.stored:
        async with services.database.read() as connection:
            parts = await traces.read(connection, log.job_id, log.generation, position, min(PART, end - position))
            if not parts:
                row = await traces.head(connection, log.job_id)
        if not parts:
            if not row.stored or row.generation != log.generation:
                return
            break
        for part in parts:
            position += len(part)
            yield part
    if position < end:
        async for part in services.store.read(trace_key(log.project_id, log.job_id, log.generation), position, end):
            yield part
