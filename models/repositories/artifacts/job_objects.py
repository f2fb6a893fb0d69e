"""What jobs have in the object store: their artifacts and logs, to be deleted with them or before them."""

from datetime import datetime

from sqlalchemy import ColumnElement, delete, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.object_keys import trace_index_key, trace_key
from models.columns import table_of
from models.repositories.artifacts import artifacts, reports, unused_objects
from models.repositories.artifacts.artifacts import artifact
from models.repositories.pipelines import pinned_steps
from models.repositories.pipelines.job_rows import job
from models.tables.logs import Trace, TraceChunk, TraceIndex

trace = table_of(Trace)
chunk = table_of(TraceChunk)
index = table_of(TraceIndex)


async def doom(connection: AsyncConnection, which: ColumnElement[bool]) -> None:
    """The objects of these jobs (a condition on `job`) are to be deleted.

    Those of logs that are in the database yet, too: one may be on its way to the store at this moment.
    """
    files = select(artifact.c.object_key).join(job, job.c.id == artifact.c.job_id)
    logs = select(trace.c.job_id, trace.c.generation, job.c.project_id).join(job, job.c.id == trace.c.job_id)
    keys = {*(await connection.execute(files.where(which, artifact.c.object_key != ""))).scalars()}
    found = await connection.execute(logs.where(which, trace.c.frozen | trace.c.copied))
    for job_id, generation, project_id in found:
        keys |= _keys(project_id, job_id, generation)
    if keys:
        await unused_objects.doom(connection, sorted(keys))


async def erase(connection: AsyncConnection, job_id: int, now: datetime) -> None:
    """Forget what a job that has ended has left; the job stays, and says when that was.

    That is its log, its artifacts and reports, and what the steps before its first one gave.
    """
    logs = select(trace.c.job_id, trace.c.generation, job.c.project_id).join(job, job.c.id == trace.c.job_id)
    found = (await connection.execute(logs.where(job.c.id == job_id).with_for_update(of=trace))).first()
    if found is not None:
        _, generation, project_id = found
        await unused_objects.doom(connection, sorted(_keys(project_id, job_id, generation)))
        for table in (chunk, index):
            await connection.execute(delete(table).where(table.c.job_id == job_id))
        await connection.execute(delete(trace).where(trace.c.job_id == job_id))
    await artifacts.remove(connection, await artifacts.of_jobs(connection, [job_id]))
    await reports.remove(connection, job_id)
    await pinned_steps.forget(connection, job_id)
    await connection.execute(update(job).where(job.c.id == job_id).values(erased_at=now))


def _keys(project_id: int, job_id: int, generation: int) -> set[str]:
    """Of a log and its index."""
    return {trace_key(project_id, job_id, generation), trace_index_key(project_id, job_id, generation)}
