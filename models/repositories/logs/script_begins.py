"""When the scripts of jobs began, which their logs say."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from sqlalchemy import bindparam, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.pipelines.job_phases import within
from models.columns import table_of
from models.repositories import database_time
from models.tables.pipelines import Job
from models.typed_rows import first_of

job = table_of(Job)

_RUN: Final = select(job.c.id, job.c.started_at, job.c.finished_at).where(
    job.c.id == bindparam("b_job"), job.c.script_at.is_(None), job.c.started_at.is_not(None)
)
_PUT: Final = (
    update(job)
    .where(job.c.id == bindparam("b_job"), job.c.script_at.is_(None), job.c.started_at == bindparam("b_started"))
    .values(script_at=bindparam("b_script"))
)


@dataclass(frozen=True, slots=True)
class Run:
    """A job that was begun, and of whose script that is not known."""

    id: int
    started_at: datetime
    finished_at: datetime | None


async def unknown(connection: AsyncConnection, job_id: int) -> Run | None:
    """A job if it is one of those, with the present moment as its end while it runs."""
    row = first_of(Run, await connection.execute(_RUN, {"b_job": job_id}))
    if row is None or row.finished_at is not None:
        return row
    return replace(row, finished_at=await database_time.moment(connection))


async def put(connection: AsyncConnection, run: Run, begin: datetime) -> None:
    """Keep when a script began; a moment outside of its run, which anybody can write into a log, says nothing.

    A job that has begun anew since stays as it is.
    """
    script = within(begin, run.started_at, run.finished_at)
    if script is not None:
        values = {"b_job": run.id, "b_started": run.started_at, "b_script": script}
        await connection.execute(_PUT, values)
