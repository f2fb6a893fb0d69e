"""What jobs wait for that want the slot of their resource group: who has it, who gets it sooner; only for looking."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import bindparam, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.pipelines.resource_groups import MODES, Candidate, ProcessMode, in_order
from domain.pipelines.status import COMPLETE, Status
from domain.why.known import OtherJob, SlotWait
from models.columns import padded, table_of
from models.tables.environments import ResourceGroup
from models.tables.pipelines import Job
from models.typed_rows import all_of

group = table_of(ResourceGroup)
job = table_of(Job)

_MAX_CANDIDATES: Final = 10_000
"""Jobs of groups that are looked at; where more wait, places are told as if the rest were not there."""
_holder = job.alias("holder")
_HELD: Final = _holder.c.status.not_in(COMPLETE)
_GROUPS: Final = (
    select(
        group.c.id,
        group.c.key,
        group.c.process_mode,
        _holder.c.id.label("holder_id"),
        _holder.c.name,
        _holder.c.status,
        _holder.c.pipeline_id,
    )
    .outerjoin(_holder, (_holder.c.id == group.c.holder_id) & _HELD)
    .where(group.c.id.in_(bindparam("b_groups", expanding=True)))
)
_COMING: Final = sorted(frozenset().union(*(statuses for statuses, _ in MODES.values())))
_CANDIDATES: Final = (
    select(job.c.id, job.c.name, job.c.status, job.c.pipeline_id, job.c.resource_group_id)
    .where(
        job.c.resource_group_id.in_(bindparam("b_groups", expanding=True)),
        job.c.status.in_(_COMING),
        ~job.c.retried,
    )
    .order_by(job.c.id)
    .limit(_MAX_CANDIDATES)
)


@dataclass(frozen=True, slots=True)
class _Group:
    """A group with the job that holds its slot, if one does."""

    id: int
    key: str
    process_mode: str
    holder_id: int | None
    name: str | None
    status: str | None
    pipeline_id: int | None


@dataclass(frozen=True, slots=True)
class _Wanting:
    """A job that wants a slot, now or later."""

    id: int
    name: str
    status: str
    pipeline_id: int
    resource_group_id: int


async def of_groups(connection: AsyncConnection, group_ids: Collection[int]) -> Mapping[int, SlotWait]:
    """By the id of each job that waits for the slot of one of these groups: for whom, and behind whom."""
    if not group_ids:
        return {}
    asked = {"b_groups": padded(sorted(group_ids))}
    groups = all_of(_Group, await connection.execute(_GROUPS, asked))
    wanting: defaultdict[int, list[_Wanting]] = defaultdict(list)
    for row in all_of(_Wanting, await connection.execute(_CANDIDATES, asked)):
        wanting[row.resource_group_id].append(row)
    found: dict[int, SlotWait] = {}
    for one in groups:
        found |= _waits(one, wanting[one.id])
    return found


def _waits(one: _Group, wanting: Sequence[_Wanting]) -> Mapping[int, SlotWait]:
    mode = ProcessMode(one.process_mode)
    rows = {row.id: row for row in wanting if row.id != one.holder_id}
    turns = in_order(mode, (Candidate(row.id, row.pipeline_id, Status(row.status)) for row in rows.values()))
    waiting = sum(candidate.is_ready for candidate in turns)
    kept_for = None
    if one.holder_id is None and turns and not turns[0].is_ready:
        kept_for = _other(rows[turns[0].job_id])
    return {
        turn.job_id: SlotWait(one.key, one.process_mode, _holder_of(one), kept_for, before, waiting)
        for before, turn in enumerate(turns)
        if turn.is_ready
    }


def _holder_of(one: _Group) -> OtherJob | None:
    if one.holder_id is None or one.name is None or one.status is None or one.pipeline_id is None:
        return None
    return OtherJob(one.holder_id, one.name, Status(one.status), one.pipeline_id)


def _other(row: _Wanting) -> OtherJob:
    return OtherJob(row.id, row.name, Status(row.status), row.pipeline_id)
