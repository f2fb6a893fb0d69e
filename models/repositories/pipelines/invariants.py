"""What SQL says of the rules in `domain.pipelines.invariants`: all that does not hold, of all pipelines or of one.

It only reads. Statements see moments of their own under PostgreSQL, so look twice at a system that works.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Final

from sqlalchemy import ColumnElement, Select, and_, bindparam, exists, false, func, or_, select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.pipelines.invariants import Broken, Limits, Rule
from domain.pipelines.resource_groups import choose
from domain.pipelines.status import COMPLETE, HELD_BY_RUNNER, OPEN, Status, composite, settled
from models.columns import padded, table_of
from models.repositories.pipelines import resource_groups, suspects
from models.repositories.pipelines.folding import COUNTS, counts_as
from models.repositories.pipelines.job_rows import job
from models.repositories.pipelines.outbox import BRIDGE, BRIDGE_ELSEWHERE, NEEDS_ELSEWHERE, OUTCOME, START, TO_PODS
from models.tables.logs import Trace
from models.tables.outbox import Outbox
from models.tables.pipelines import OPEN_PIPELINE, Pipeline, Stage
from models.tables.queue import Lease, QueueEntry
from models.typed_rows import all_of

pipeline = table_of(Pipeline)
stage = table_of(Stage)
lease = table_of(Lease)
queue = table_of(QueueEntry)
outbox = table_of(Outbox)
trace = table_of(Trace)

_OF_JOB: Final = (job.c.id, job.c.pipeline_id, job.c.status)
_other = job.alias("other")
_IS_OPEN: Final = or_(
    _other.c.status.in_(sorted(OPEN)), and_(_other.c.status == Status.MANUAL, _other.c.downstream_id.is_not(None))
)
_leased: Final = exists().where(lease.c.job_id == job.c.id)
_queued: Final = exists().where(queue.c.job_id == job.c.id)
_told: Final = exists().where(outbox.c.job_id == job.c.id, outbox.c.kind == OUTCOME)
_waits_elsewhere: Final = exists().where(outbox.c.job_id == job.c.id, outbox.c.kind == NEEDS_ELSEWHERE)
_asked_for: Final = exists().where(outbox.c.job_id == job.c.id, outbox.c.kind.in_((BRIDGE, BRIDGE_ELSEWHERE)))

_ENDED: Final = job.c.status.in_(sorted(COMPLETE))
_is_open: Final = ~trace.c.frozen, trace.c.size > 0
_VERDICT_WITHOUT_BELL: Final = and_(~job.c.folded, ~_told)
_JOBS: Final[tuple[tuple[Rule, ColumnElement[bool]], ...]] = (
    (Rule.RUNNING_WITHOUT_LEASE, and_(job.c.status.in_(sorted(HELD_BY_RUNNER)), ~job.c.bridge, ~_leased)),
    (Rule.LEASE_WITHOUT_JOB, and_(job.c.status.not_in(sorted(HELD_BY_RUNNER)), _leased)),
    (Rule.PENDING_WITHOUT_QUEUE, and_(job.c.status == Status.PENDING, ~job.c.bridge, ~_queued, ~_waits_elsewhere)),
    (Rule.QUEUE_WITHOUT_JOB, and_(job.c.status != Status.PENDING, _queued)),
    (
        Rule.BRIDGE_WITHOUT_PIPELINE,
        and_(
            job.c.bridge,
            job.c.status.in_((Status.PENDING, Status.RUNNING)),
            or_(
                and_(job.c.status == Status.PENDING, ~_asked_for),
                and_(job.c.status == Status.RUNNING, job.c.downstream_id.is_(None)),
            ),
        ),
    ),
    (Rule.BELL_WITHOUT_VERDICT, and_(job.c.folded, _told)),
    (Rule.LOG_OPEN, and_(_ENDED, exists().where(trace.c.job_id == job.c.id, *_is_open))),
)
"""Rules about single jobs: those for which the condition is true break it. And `_VERDICT_WITHOUT_BELL`."""
_OF_ALL: Final[Mapping[Rule, ColumnElement[bool]]] = {
    Rule.LEASE_WITHOUT_JOB: and_(
        job.c.status.not_in(sorted(HELD_BY_RUNNER)), job.c.id.in_(select(lease.c.job_id).scalar_subquery())
    ),
    Rule.QUEUE_WITHOUT_JOB: and_(
        job.c.status != Status.PENDING, job.c.id.in_(select(queue.c.job_id).scalar_subquery())
    ),
    Rule.BELL_WITHOUT_VERDICT: and_(
        job.c.folded, job.c.id.in_(select(outbox.c.job_id).where(outbox.c.kind == OUTCOME).scalar_subquery())
    ),
    Rule.LOG_OPEN: and_(_ENDED, job.c.id.in_(select(trace.c.job_id).where(*_is_open).scalar_subquery())),
}
"""The same of all jobs, for SQLite: it begins at the table that has few rows, as PostgreSQL does by itself."""


async def broken(
    connection: AsyncConnection,
    now: datetime,
    limits: Limits = Limits(),
    *,
    pipeline_id: int | None = None,
    at_rest: bool = False,
) -> list[Broken]:
    """Every rule that does not hold. `at_rest` says that nothing is on its way: then no verdict may wait either.

    A verdict may wait all the same while another job of its pipeline is open: it is folded with that one's.
    """
    found: list[Broken] = []
    chosen = await _suspects(connection, at_rest=at_rest) if pipeline_id is None else [pipeline_id]
    for start in range(0, len(chosen), _MAX_BATCH):
        ids = padded(chosen[start : start + _MAX_BATCH])
        found += await _statuses(connection, ids, at_rest=at_rest)
        found += await _unfolded(connection, now, limits, ids, at_rest=at_rest)
        found += await _attempts(connection, ids)
    for rule, condition in _JOBS:
        which = condition if pipeline_id is not None else _OF_ALL.get(rule, condition)
        rows = await connection.execute(_of(select(*_OF_JOB).where(which), job.c.pipeline_id, pipeline_id))
        found += [Broken(rule, row.pipeline_id, str(row.id), row.status) for row in rows.all()]
    found += await _old_rows(connection, now, limits, pipeline_id)
    found += await _waiters(connection, pipeline_id)
    return sorted(found)


def _of(statement: Select[Any], column: ColumnElement[Any], pipeline_id: int | None) -> Select[Any]:
    return statement if pipeline_id is None else statement.where(column == pipeline_id)


async def _suspects(connection: AsyncConnection, *, at_rest: bool) -> Sequence[int]:
    """Pipelines for which a rule about the statuses, verdicts or attempts of their jobs may not hold."""

    @cache
    def is_wrong(status: str, has_ended: bool, stages: str | None, jobs: str | None) -> bool:
        if suspects.is_strange(jobs):
            return True
        kinds = list(suspects.standings(jobs))
        for position, stored in suspects.stages_of(stages):
            folded = _fold([one for one in kinds if one.stage_position == position], at_rest=at_rest)
            if not {Status.CREATED, stored} & folded:
                return True
        return bool(kinds) and any(_of_pipeline(0, status, _fold(kinds, at_rest=at_rest), has_ended=has_ended))

    looked = await suspects.look(connection)
    return [one.id for one in looked if one.is_odd or is_wrong(one.status, one.has_ended, one.stages, one.jobs)]


@dataclass(frozen=True, slots=True)
class _Standing(suspects.Standing):
    """How one or several jobs of a stage stand, and of which pipeline."""

    pipeline_id: int


async def _statuses(connection: AsyncConnection, ids: Sequence[int], *, at_rest: bool) -> Sequence[Broken]:
    """Stages and pipelines whose status is not what their jobs fold into.

    A verdict that is on its way may count as what it is or as running; at rest it counts as what it is.
    """
    counted = (
        select(job.c.stage_position, job.c.status, job.c.allow_failure, job.c.folded, job.c.pipeline_id)
        .where(COUNTS, job.c.pipeline_id.in_(ids))
        .distinct()
    )
    kinds: defaultdict[int, list[_Standing]] = defaultdict(list)
    for one in all_of(_Standing, await connection.execute(counted)):
        kinds[one.pipeline_id].append(one)
    stages = select(stage.c.pipeline_id, stage.c.position, stage.c.name, stage.c.status)
    found: list[Broken] = []
    for row in (await connection.execute(stages.where(stage.c.pipeline_id.in_(ids)))).all():
        folded = _fold([one for one in kinds[row.pipeline_id] if one.stage_position == row.position], at_rest=at_rest)
        if not {Status.CREATED, row.status} & folded:
            found.append(Broken(Rule.STAGE_STATUS, row.pipeline_id, row.name, _not(row.status, folded)))
    owners = select(pipeline.c.id, pipeline.c.status, pipeline.c.finished_at).where(pipeline.c.id.in_(ids))
    for owner in (await connection.execute(owners)).all():
        if kinds[owner.id]:
            folded = _fold(kinds[owner.id], at_rest=at_rest)
            found += _of_pipeline(owner.id, owner.status, folded, has_ended=owner.finished_at is not None)
    return found


def _fold(kinds: Sequence[suspects.Standing], *, at_rest: bool) -> set[Status]:
    """What jobs may fold into."""
    shown = {composite((Status(one.status), one.allow_failure) for one in kinds)}
    counted = ((counts_as(one.status, folded=one.folded), one.allow_failure) for one in kinds)
    return shown if at_rest else shown | {composite(counted)}


def _of_pipeline(pipeline_id: int, stored: str, folded: set[Status], *, has_ended: bool) -> Iterator[Broken]:
    status = Status(stored)
    if status not in {settled(status, one) for one in folded}:
        yield Broken(Rule.PIPELINE_STATUS, pipeline_id, detail=_not(status, folded))
    if has_ended != (status in COMPLETE):
        told = "has no time at which it ended" if status in COMPLETE else "has a time at which it ended"
        yield Broken(Rule.FINISHED_AT, pipeline_id, detail=f"{status} and {told}")


def _not(stored: str, folded: set[Status]) -> str:
    return f"stored as {stored}; its jobs fold into {' or '.join(sorted(folded))}"


async def _unfolded(
    connection: AsyncConnection, now: datetime, limits: Limits, ids: Sequence[int], *, at_rest: bool
) -> Sequence[Broken]:
    """Verdicts that nobody was told of, and those that wait too long."""
    is_old = job.c.finished_at < now - timedelta(seconds=limits.unfolded)
    is_alone = ~exists().where(_other.c.pipeline_id == job.c.pipeline_id, _IS_OPEN) if at_rest else false()
    found = []
    for rule, condition in (
        (Rule.VERDICT_WITHOUT_BELL, _VERDICT_WITHOUT_BELL),
        (Rule.VERDICT_UNFOLDED, and_(~job.c.folded, or_(is_old, is_alone))),
    ):
        rows = await connection.execute(select(*_OF_JOB).where(condition, job.c.pipeline_id.in_(ids)))
        found += [Broken(rule, row.pipeline_id, str(row.id), row.status) for row in rows.all()]
    return found


async def _old_rows(
    connection: AsyncConnection, now: datetime, limits: Limits, pipeline_id: int | None
) -> Sequence[Broken]:
    old = now - timedelta(seconds=limits.outbox)
    statement = select(outbox.c.id, outbox.c.pipeline_id, outbox.c.kind, outbox.c.attempts, outbox.c.error).where(
        outbox.c.created_at < old,
        outbox.c.not_before < now,
        outbox.c.kind.not_in(TO_PODS),  # what another pod lacks is no fault of this one
    )
    rows = (await connection.execute(_of(statement, outbox.c.pipeline_id, pipeline_id))).all()
    return [
        Broken(Rule.OUTBOX_OLD, row.pipeline_id, str(row.id), f"{row.kind}, tried {row.attempts} times, {row.error}")
        for row in rows
    ]


async def _attempts(connection: AsyncConnection, ids: Sequence[int]) -> Sequence[Broken]:
    """Jobs without a latest attempt, or with several."""
    latest = func.count().filter(~job.c.retried)
    statement = (
        select(job.c.first_id, job.c.pipeline_id, latest.label("latest"))
        .where(job.c.pipeline_id.in_(ids))
        .group_by(job.c.first_id, job.c.pipeline_id)
        .having(latest != 1)
    )
    rows = (await connection.execute(statement)).all()
    return [Broken(Rule.ATTEMPTS, row.pipeline_id, str(row.first_id), f"{row.latest} latest attempts") for row in rows]


async def _waiters(connection: AsyncConnection, pipeline_id: int | None) -> Sequence[Broken]:
    """Jobs whose turn it is in a resource group that nobody holds."""
    found = []
    for group_id in await resource_groups.waited_for(connection):
        seen = await resource_groups.situation(connection, group_id)
        chosen = None if seen is None else choose(seen.mode, seen.is_free, seen.candidates)
        if chosen is not None and pipeline_id in {None, chosen.pipeline_id}:
            found.append(Broken(Rule.WAITER_WITHOUT_HOLDER, chosen.pipeline_id, str(chosen.job_id)))
    return found


async def live(connection: AsyncConnection, before: datetime) -> dict[int, str]:
    """Pipelines that have not ended and whose workflow was started before a moment, with their status."""
    to_start = exists().where(outbox.c.pipeline_id == pipeline.c.id, outbox.c.kind == START)
    statement = select(pipeline.c.id, pipeline.c.status).where(
        text(OPEN_PIPELINE), pipeline.c.created_at < before, ~to_start
    )
    return {row.id: row.status for row in (await connection.execute(statement)).all()}


_STATUSES: Final = select(pipeline.c.id, pipeline.c.status).where(
    pipeline.c.id.in_(bindparam("b_pipelines", expanding=True))
)
_MAX_BATCH: Final = 1_000
"""So many ids are in one statement."""


async def statuses(connection: AsyncConnection, ids: Sequence[int]) -> dict[int, str]:
    """Those of these pipelines that are there, with their status."""
    found: dict[int, str] = {}
    for start in range(0, len(ids), _MAX_BATCH):
        rows = await connection.execute(_STATUSES, {"b_pipelines": ids[start : start + _MAX_BATCH]})
        found |= {row.id: row.status for row in rows.all()}
    return found


async def newest(connection: AsyncConnection) -> datetime | None:
    """When a pipeline was last written; None while there is none."""
    moment: datetime | None = (await connection.execute(select(func.max(pipeline.c.updated_at)))).scalar()
    return moment
