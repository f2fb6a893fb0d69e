"""What is done to the rows of a backup before anybody sees them again.

Between the backup and now the installation went on in a world that is lost, but of which others remember: runners hold
tokens of it, people links, and Temporal, if it has survived, histories. Nothing that was given out there may mean
something else here (docs/seam.md, "Ids", "Decisions are numbered").
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Final, TypeVar

from sqlalchemy import ColumnElement, delete, exists, false, func, insert, literal, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.errors import Invalid
from domain.object_keys import trace_key
from domain.pipelines.status import COMPLETE, HELD_BY_RUNNER
from models.columns import table_of
from models.repositories.artifacts.artifacts import REMEMBERED
from models.repositories.installation.installations import BLOCK, continue_after, installation, last_ids
from models.repositories.projects import secure_files, uploads
from models.repositories.queue import leases
from models.schema import METADATA
from models.tables.artifacts import Artifact
from models.tables.logs import Trace, TraceChunk, TraceIndex
from models.tables.pipelines import Job, Pipeline
from models.tables.queue import Lease, LeaseClock
from models.tables.schedules import PipelineSchedule
from models.typed_rows import all_of

SKIPPED: Final = 1_000_000
"""So many ids of each table are left out: those that the lost world may have given."""
HAND_OUTS: Final = 1_000
"""So many numbers of hand-outs of each job that no runner holds."""
REVISIONS: Final = 1_000
"""So many revisions of each schedule."""
_MAX_BATCH: Final = 500

Item = TypeVar("Item")

artifact = table_of(Artifact)
job = table_of(Job)
lease = table_of(Lease)
clock = table_of(LeaseClock)
pipeline = table_of(Pipeline)
schedule = table_of(PipelineSchedule)
trace = table_of(Trace)
chunk = table_of(TraceChunk)
index = table_of(TraceIndex)


async def settle(
    connection: AsyncConnection, pod_number: int, missing: Collection[str], now: datetime, copy_id: str = ""
) -> None:
    """Bring the rows of a backup into the present; `missing` are keys of objects that it does not have.

    With `copy_id` they become an installation of that id, whose pipelines stand still until it is promoted; else they
    are the one that was backed up. Raises `Invalid` when there are not enough ids left in the pod's block.
    """
    if copy_id:
        await _make_copy(connection, copy_id)
    await _skip_ids(connection, pod_number)
    await _fence(connection, now)
    await _let_runners_come_back(connection, now)
    await _forget_missing(connection, missing)
    await connection.execute(update(installation).values(restored_at=now))


async def _make_copy(connection: AsyncConnection, copy_id: str) -> None:
    newest = func.coalesce(select(func.max(pipeline.c.id)).scalar_subquery(), 0)
    own = {"restored_from": installation.c.installation_id, "held_up_to": newest, "installation_id": copy_id}
    await connection.execute(update(installation).values(**own))


async def _skip_ids(connection: AsyncConnection, pod_number: int) -> None:
    first, end = pod_number * BLOCK, (pod_number + 1) * BLOCK
    known = await last_ids(connection)
    for table in METADATA.sorted_tables:
        if not table.kwargs.get("sqlite_autoincrement"):
            continue
        # Rows that came with an organisation from another pod have ids of its block.
        own = select(func.max(table.c.id)).where(table.c.id < end)
        highest = (await connection.execute(own)).scalar() or 0
        last = max(highest, known.get(table.name, 0), first) + SKIPPED
        if last >= end:
            raise Invalid(f"Table {table.name} has no ids left in the block of this pod ({first} to {end}).")
        await continue_after(connection, table.name, last)


async def _fence(connection: AsyncConnection, now: datetime) -> None:
    """Decisions of workflows that run in a surviving Temporal are older than what is here now.

    Hand-outs of the lost world have numbers that no runner gets here, so their tokens open nothing. What Temporal has
    of a schedule is none of its revisions any more: it is told anew.
    """
    number = int(now.timestamp() * 1_000_000)
    await connection.execute(update(pipeline).where(pipeline.c.run < number).values(run=number, tick=0))
    await connection.execute(update(schedule).values(revision=schedule.c.revision + REVISIONS))
    waiting = job.c.status.not_in(sorted(COMPLETE | HELD_BY_RUNNER))
    await _begin_logs(connection, waiting)
    await connection.execute(update(job).where(waiting).values(hand_out=job.c.hand_out + HAND_OUTS))


async def _begin_logs(connection: AsyncConnection, which: ColumnElement[bool]) -> None:
    """A job that was handed out before has a log, as a claim knows: these now count as such."""
    missing = select(job.c.id).where(which, ~exists().where(trace.c.job_id == job.c.id))
    nothing = {"generation": 0, "size": 0, "crc": 0, "earlier_size": 0, "earlier_crc": 0}
    flags = dict.fromkeys(("frozen", "resent", "copied", "stored"), false())
    columns = [*(literal(value).label(name) for name, value in nothing.items()), *(flags[name] for name in flags)]
    await connection.execute(insert(trace).from_select(["job_id", *nothing, *flags], missing.add_columns(*columns)))


async def _let_runners_come_back(connection: AsyncConnection, now: datetime) -> None:
    """A clock that has not ticked for ages gives every lease the longest bonus there is, at its first tick.

    A hand-out that nobody had taken up may have gone to another runner since: it goes back to the queue. One whose
    runner has sent some of its log was taken up, also where that is not noted yet.
    """
    await connection.execute(update(clock).values(ticked_at=0.0))
    begun = select(trace.c.job_id).where(trace.c.size > 0)
    await connection.execute(update(lease).where(~lease.c.taken_up, lease.c.job_id.in_(begun)).values(taken_up=True))
    untaken = select(lease.c.job_id, lease.c.hand_out, job.c.pipeline_id, job.c.status).join(
        job, job.c.id == lease.c.job_id
    )
    rows = all_of(leases.SilentLease, await connection.execute(untaken.where(~lease.c.taken_up)))
    back = await leases.put_back(connection, rows, now)
    for ids in _batches(back):
        await connection.execute(update(job).where(job.c.id.in_(ids)).values(hand_out=job.c.hand_out + HAND_OUTS))


async def _forget_missing(connection: AsyncConnection, missing: Collection[str]) -> None:
    """No row speaks of an object that is not there.

    An artifact has expired, a log is empty and says so, a secure file or an upload is gone.
    """
    for keys in _batches(sorted(missing)):
        gone = artifact.c.object_key.in_(keys)
        remembered = update(artifact).where(gone, artifact.c.file_type.in_(REMEMBERED))
        await connection.execute(remembered.values(object_key=""))
        await connection.execute(delete(artifact).where(gone))
        await _forget_logs(connection, keys)
        await secure_files.forget_missing(connection, keys)
        await uploads.forget_missing(connection, keys)


async def _forget_logs(connection: AsyncConnection, keys: Sequence[str]) -> None:
    named = {key.rsplit("/", 2)[-2]: key for key in keys if key.endswith(".log")}
    ids = [int(name) for name in named if name.isdecimal()]
    statement = select(trace.c.job_id, trace.c.generation, job.c.project_id).join(job, job.c.id == trace.c.job_id)
    for job_id, generation, project_id in (await connection.execute(statement.where(trace.c.job_id.in_(ids)))).all():
        if trace_key(project_id, job_id, generation) in keys:
            for table in (chunk, index):
                await connection.execute(delete(table).where(table.c.job_id == job_id))
            await connection.execute(delete(trace).where(trace.c.job_id == job_id))
            await connection.execute(update(job).where(job.c.id == job_id).values(log_incomplete=True))


def _batches(items: Sequence[Item]) -> list[Sequence[Item]]:
    return [items[start : start + _MAX_BATCH] for start in range(0, len(items), _MAX_BATCH)]
