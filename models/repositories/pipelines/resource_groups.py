"""Resource groups: one slot per key and project, held by a job until its row is complete.

The slot is taken here and nowhere else. There is no clock and nothing to release: a holder that has ended, or whose row
is gone, holds nothing any more.

Source: docs/seam.md, "Resource groups".
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import bindparam, case, exists, func, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.errors import NotFound
from domain.pipelines.resource_groups import MODES, Candidate, ProcessMode
from domain.pipelines.status import COMPLETE, Status
from models.columns import table_of
from models.repositories.paging import Listing
from models.repositories.pipelines import outbox
from models.repositories.pipelines.jobs import LISTED
from models.rows.environments import ResourceGroupRow
from models.rows.pipelines import ListedJobRow
from models.tables.environments import ResourceGroup
from models.tables.pipelines import Job
from models.typed_rows import first_of

group = table_of(ResourceGroup)
job = table_of(Job)

_MAKE: Final = {
    "postgresql": postgresql.insert(group).on_conflict_do_nothing(),
    "sqlite": sqlite.insert(group).on_conflict_do_nothing(),
}


async def ensure(connection: AsyncConnection, project_id: int, keys: Iterable[str], now: datetime) -> dict[str, int]:
    """The ids of the project's groups with these keys; those that are missing are made, `unordered`."""
    wanted = sorted(set(keys))
    if not wanted:
        return {}
    known = await _ids(connection, project_id, wanted)
    # In the order of the keys, so that two pipelines that make the same groups never wait for each other.
    missing = [
        {"project_id": project_id, "key": key, "process_mode": "unordered", "created_at": now, "updated_at": now}
        for key in wanted
        if key not in known
    ]
    if not missing:
        return known
    await connection.execute(_MAKE[connection.dialect.name], missing)
    return await _ids(connection, project_id, wanted)


async def _ids(connection: AsyncConnection, project_id: int, keys: Sequence[str]) -> dict[str, int]:
    statement = select(group.c.key, group.c.id).where(group.c.project_id == project_id, group.c.key.in_(keys))
    return {row.key: row.id for row in (await connection.execute(statement)).all()}


_waiter = job.alias("waiter")
_holder = job.alias("holder")
_asking: Any = bindparam("b_jobs", expanding=True)
_waits = (
    _waiter.c.id.in_(_asking),
    _waiter.c.resource_group_id == group.c.id,
    _waiter.c.status == Status.WAITING_FOR_RESOURCE,
)
_GROUPS: Final = select(job.c.resource_group_id).where(job.c.id.in_(_asking))
_LOCK: Final = select(group.c.id).where(group.c.id.in_(_GROUPS)).order_by(group.c.id).with_for_update(key_share=True)
_TAKE: Final = (
    update(group)
    .where(
        group.c.id.in_(_GROUPS),
        exists().where(*_waits).correlate(group),
        ~exists().where(_holder.c.id == group.c.holder_id, _holder.c.status.not_in(COMPLETE)).correlate(group),
    )
    .values(holder_id=select(func.min(_waiter.c.id)).where(*_waits).correlate(group).scalar_subquery())
)
_HOLDS: Final = (
    select(job.c.id)
    .join(group, (group.c.id == job.c.resource_group_id) & (group.c.holder_id == job.c.id))
    .where(job.c.id.in_(_asking), job.c.status.not_in(COMPLETE))
    .order_by(job.c.id)
)


async def take(connection: AsyncConnection, job_ids: Iterable[int]) -> tuple[int, ...]:
    """Give the free slots of their groups to these jobs, if they wait; give back those that hold theirs now.

    Doing it again changes nothing. The groups are locked first, by id: under PostgreSQL the UPDATE then sees what those
    who had the lock before have committed, a holder that has ended just now included. Job rows are not locked: one that
    is canceled at the same moment may get the slot, and being complete it holds nothing.
    """
    asking = {"b_jobs": sorted(job_ids)}
    if not asking["b_jobs"]:
        return ()
    await connection.execute(_LOCK, asking)
    await connection.execute(_TAKE, asking)
    return await holds(connection, asking["b_jobs"])


async def holds(connection: AsyncConnection, job_ids: Iterable[int]) -> tuple[int, ...]:
    """Those of the jobs that hold the slot of their group."""
    return tuple((await connection.execute(_HOLDS, {"b_jobs": sorted(job_ids)})).scalars())


async def forget(connection: AsyncConnection, job_ids: Iterable[int]) -> None:
    """These jobs are about to live again (skipped, then created): what they held before is not theirs any more."""
    await connection.execute(update(group).where(group.c.holder_id.in_(sorted(job_ids))).values(holder_id=None))


@dataclass(frozen=True, slots=True)
class Situation:
    """A group at one moment: its mode, whether nobody holds the slot, and who may want it."""

    mode: ProcessMode
    is_free: bool
    candidates: tuple[Candidate, ...] = ()


@dataclass(frozen=True, slots=True)
class _Slot:
    """The mode of a group, and the job that holds its slot, if one does."""

    process_mode: str
    id: int | None


_SLOT: Final = (
    select(group.c.process_mode, _holder.c.id)
    .outerjoin(_holder, (_holder.c.id == group.c.holder_id) & _holder.c.status.not_in(COMPLETE))
    .where(group.c.id == bindparam("b_group"))
)
_CANDIDATES: Final = select(job.c.id, job.c.pipeline_id, job.c.status).where(
    job.c.resource_group_id == bindparam("b_group"),
    job.c.status.in_(bindparam("b_statuses", expanding=True)),
    ~job.c.retried,
)


async def situation(connection: AsyncConnection, group_id: int) -> Situation | None:
    """What is to be known to choose who comes next; None for a group that is gone."""
    slot = first_of(_Slot, await connection.execute(_SLOT, {"b_group": group_id}))
    if slot is None:
        return None
    mode = ProcessMode(slot.process_mode)
    statuses = sorted(MODES[mode][0])
    rows = await connection.execute(_CANDIDATES, {"b_group": group_id, "b_statuses": statuses})
    found = (Candidate(key, pipeline_id, Status(status)) for key, pipeline_id, status in rows if key != slot.id)
    return Situation(mode, slot.id is None, tuple(found))


async def waited_for(connection: AsyncConnection) -> list[int]:
    """The groups for whose slot a job waits."""
    statement = select(job.c.resource_group_id).where(
        job.c.resource_group_id.is_not(None), job.c.status == Status.WAITING_FOR_RESOURCE
    )
    return list((await connection.execute(statement.distinct())).scalars())


def of_project(project_id: int) -> Listing[ResourceGroupRow]:
    """The groups of a project."""
    return Listing(select(group).where(group.c.project_id == project_id).order_by(group.c.id), ResourceGroupRow)


async def get(connection: AsyncConnection, project_id: int, key: str) -> ResourceGroupRow:
    """One group of a project. Raises `NotFound`."""
    statement = select(group).where(group.c.project_id == project_id, group.c.key == key)
    row = first_of(ResourceGroupRow, await connection.execute(statement))
    if row is None:
        raise NotFound("Resource Group Not Found")
    return row


async def set_mode(connection: AsyncConnection, group_id: int, mode: ProcessMode, now: datetime) -> None:
    """Change the order of a group; if somebody waits, the group looks again."""
    statement = update(group).where(group.c.id == group_id).values(process_mode=mode, updated_at=now)
    await connection.execute(statement)
    waiting = select(func.min(job.c.pipeline_id)).where(
        job.c.resource_group_id == group_id, job.c.status == Status.WAITING_FOR_RESOURCE
    )
    pipeline_id = (await connection.execute(waiting)).scalar()
    if pipeline_id is not None:
        await outbox.put(connection, outbox.GROUP, pipeline_id, now, payload={"group": group_id})


_PIPELINE_ORDER: Final = {
    ProcessMode.UNORDERED: (),
    ProcessMode.OLDEST_FIRST: (job.c.pipeline_id,),
    ProcessMode.NEWEST_FIRST: (job.c.pipeline_id.desc(),),
    ProcessMode.NEWEST_READY_FIRST: (job.c.pipeline_id.desc(),),
}
_READY_FIRST: Final = case((job.c.status == Status.WAITING_FOR_RESOURCE, 0), else_=1)


def upcoming(row: ResourceGroupRow) -> Listing[ListedJobRow]:
    """The jobs that will get the slot of a group, in the order of its mode."""
    mode = ProcessMode(row.process_mode)
    statement = (
        select(*LISTED)
        .where(
            job.c.resource_group_id == row.id,
            job.c.status.in_(sorted(MODES[mode][0])),
            job.c.id.is_distinct_from(row.holder_id),
            ~job.c.retried,
        )
        .order_by(*_PIPELINE_ORDER[mode], _READY_FIRST, job.c.id)
    )
    return Listing(statement, ListedJobRow)


def current(row: ResourceGroupRow) -> Listing[ListedJobRow]:
    """The job that holds the slot of a group, if one does."""
    return Listing(select(*LISTED).where(job.c.id == (row.holder_id or 0), job.c.status.not_in(COMPLETE)), ListedJobRow)
