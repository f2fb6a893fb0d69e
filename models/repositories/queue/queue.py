"""The queue of pending jobs as runners see it: what there is for some of them, and whose turn it is.

All eligibility is here, in SQL (docs/reference/runner-protocol.md, "Picking a job"); `domain.runners.matching`
says the same in Python, and a property test compares the two. Jobs are looked through by what they have in common, so
that a thousand jobs that a runner cannot take cost as little as one. Runners that ask at the same moment and may take
the same jobs are one look.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from sqlalchemy import (
    ARRAY,
    BigInteger,
    ColumnElement,
    Integer,
    Select,
    Subquery,
    and_,
    bindparam,
    cast,
    exists,
    func,
    literal,
    or_,
    select,
    true,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.pipelines.status import Status, sources_of
from domain.runners.matching import RunnerType
from models.columns import padded, table_of
from models.repositories.accounts import accounts
from models.repositories.installation.installations import HELD
from models.repositories.namespaces.namespaces import namespace
from models.repositories.pipelines.job_rows import job
from models.repositories.queue import queue_counts
from models.rows.runners import RunnerRow
from models.tables.projects import Project
from models.tables.queue import Lease, QueueDemand, QueueDemandTag, QueueEntry
from models.tables.runners import Runner, RunnerProject
from models.typed_rows import all_of

entry = table_of(QueueEntry)
demand = table_of(QueueDemand)
demand_tag = table_of(QueueDemandTag)
lease = table_of(Lease)
project = table_of(Project)
runner = table_of(Runner)
runner_project = table_of(RunnerProject)

_RUNNERS: Final = (
    select(runner)
    .where(runner.c.id.in_(bindparam("b_runners", expanding=True)), ~runner.c.paused)
    .order_by(runner.c.id)
    .with_for_update(of=runner, read=True, key_share=True)
)
"""Held until the claim ends: a runner is not removed while it is given a job."""
_GIVEN: Final = (
    select(func.min(lease.c.job_id).label("job_id"), lease.c.request_id, job.c.runner_id)
    .join(job, job.c.id == lease.c.job_id)
    .where(lease.c.request_id.in_(bindparam("b_requests", expanding=True)), ~lease.c.taken_up)
    .group_by(lease.c.request_id, job.c.runner_id)
)
_MAY_RUN_AS_SERVER: Final = or_(project.c.may_run_as_server, ~accounts.OTHERS)
_ANY_ID: Final = 2**63 - 1
_MAX_JOBS: Final = bindparam("b_most", type_=Integer)


@dataclass(frozen=True, slots=True)
class Kind:
    """Runners that may take the same jobs. The ids are None where they make no difference."""

    runner_type: RunnerType
    tags: tuple[str, ...]
    run_untagged: bool
    ref_protected: bool
    organisation_id: int | None = None
    runner_id: int | None = None
    namespace_id: int | None = None
    as_server: bool = False


@dataclass(frozen=True, slots=True)
class Turn:
    """A job whose turn it is, and what it asks for."""

    job_id: int
    demand_id: int


@dataclass(frozen=True, slots=True)
class HeldEntry:
    """A job that is taken from the queue: it is locked, as its entry is."""

    job_id: int
    demand_id: int
    project_id: int
    hand_out: int
    environment_action: str


@dataclass(frozen=True, slots=True)
class _Shape:
    """What makes the statement of one kind differ from that of another."""

    runner_type: RunnerType
    tags: bool
    run_untagged: bool
    ref_protected: bool
    passed: bool
    group: bool
    as_server: bool
    leaving: bool = False
    is_copy: bool = False


def kind_of(row: RunnerRow) -> Kind:
    """What a runner is for the queue."""
    runner_type = RunnerType(row.runner_type)
    return Kind(
        runner_type,
        tuple(sorted(row.tags)),
        row.run_untagged,
        row.ref_protected,
        None if runner_type is RunnerType.INSTANCE else row.organisation_id,
        row.id if runner_type is RunnerType.PROJECT else None,
        row.namespace_id if runner_type is RunnerType.GROUP else None,
        row.as_server,
    )


async def runners_of(connection: AsyncConnection, ids: Collection[int]) -> Mapping[int, RunnerRow]:
    """The runners as they are now, by id; those that are paused or gone are left out."""
    found = await connection.execute(_RUNNERS, {"b_runners": padded(ids)})
    return {row.id: row for row in all_of(RunnerRow, found)}


async def given(connection: AsyncConnection, request_ids: Collection[str]) -> Mapping[tuple[int, str], int]:
    """Jobs that these requests were given already and for which nobody has called, by runner and request.

    Their answers were lost.
    """
    if not request_ids:
        return {}
    rows = (await connection.execute(_GIVEN, {"b_requests": padded(request_ids)})).all()
    return {(row.runner_id, row.request_id): row.job_id for row in rows}


async def turns(
    connection: AsyncConnection,
    kind: Kind,
    most: int,
    passed: Collection[int] = (),
    leaving: Collection[int] = (),
    *,
    is_copy: bool = False,
) -> Sequence[Turn]:
    """The jobs whose turn it is for runners of a kind, `most` at most.

    Demands that were `passed` are left out, and organisations that are `leaving` the pod; of a copy the jobs that stand
    still.
    A look that locks nothing. Instance runners take from the project of which they hold the fewest jobs, all others
    the oldest job.
    """
    group = kind.namespace_id is not None
    shape = _Shape(
        kind.runner_type,
        bool(kind.tags),
        kind.run_untagged,
        kind.ref_protected,
        bool(passed),
        group,
        kind.as_server,
        bool(leaving),
        is_copy,
    )
    values: dict[str, Any] = {"b_most": most, "b_others": most - 1}
    if kind.tags:
        values["b_tags"] = list(kind.tags)
    if kind.runner_type is not RunnerType.INSTANCE:
        values["b_organisation"] = kind.organisation_id
    if kind.runner_type is RunnerType.PROJECT:
        values["b_runner"] = kind.runner_id
    if group:
        values["b_group"] = f"%/{kind.namespace_id}/%"
    if passed:
        values["b_passed"] = list(passed)
    if leaving:
        values["b_leaving"] = list(leaving)
    return all_of(Turn, await connection.execute(_turns(shape), values))


async def hold(connection: AsyncConnection, kind: Kind, wanted: Sequence[Turn]) -> Sequence[HeldEntry]:
    """Lock so many jobs of each demand as are wanted: the oldest that no other transaction holds.

    The job is locked with its entry: who cancels it waits for neither or for both. On SQLite nobody else writes; on
    PostgreSQL an account may have come since the look, so whether jobs may run as the server is asked again.
    """
    if connection.dialect.name == "sqlite":
        found = await connection.execute(_READ, {"b_jobs": padded([row.job_id for row in wanted])})
    else:
        jobs = Counter(row.demand_id for row in wanted)
        statement = _HOLD_AS_SERVER if kind.as_server else _HOLD
        found = await connection.execute(statement, {"b_demands": list(jobs), "b_jobs": list(jobs.values())})
    return all_of(HeldEntry, found)


def _eligible(shape: _Shape) -> list[ColumnElement[bool]]:
    foreign = exists().where(demand_tag.c.demand_id == demand.c.id)
    if shape.tags:
        foreign = foreign.where(demand_tag.c.tag.not_in(bindparam("b_tags", expanding=True)))
    rules = [~project.c.archived, ~and_(demand.c.tagged, foreign)]
    if not shape.run_untagged:
        rules.append(demand.c.tagged)
    if shape.ref_protected:
        rules.append(demand.c.ref_protected)
    if shape.passed:
        rules.append(demand.c.id.not_in(bindparam("b_passed", expanding=True)))
    if shape.as_server:
        rules.append(_MAY_RUN_AS_SERVER)
    if shape.leaving:
        rules.append(demand.c.organisation_id.not_in(bindparam("b_leaving", expanding=True)))
    if shape.runner_type is RunnerType.INSTANCE:
        return [*rules, project.c.shared_runners_enabled]
    rules.append(demand.c.organisation_id == bindparam("b_organisation"))
    if shape.group:
        near = exists().where(namespace.c.id == project.c.namespace_id, namespace.c.trail.like(bindparam("b_group")))
        rules.append(near)
    if shape.runner_type is RunnerType.GROUP:
        return [*rules, project.c.group_runners_enabled]
    linked = select(runner_project.c.project_id).where(runner_project.c.runner_id == bindparam("b_runner"))
    return [*rules, demand.c.project_id.in_(linked)]


def _moves(job_id: ColumnElement[int]) -> ColumnElement[bool]:
    """Whether the pipeline of a job does not stand still."""
    return exists().where(job.c.id == job_id, job.c.pipeline_id > HELD)


@cache
def _turns(shape: _Shape) -> Select[Any]:
    """The jobs of those demands that may have a turn: never more demands, nor more jobs of each, than are asked for."""
    fair = shape.runner_type is RunnerType.INSTANCE
    first = _first_demands(shape, fair=fair)
    place = func.row_number().over(partition_by=first.c.project_id, order_by=entry.c.job_id) - 1
    waiting = (
        select(entry.c.job_id, entry.c.demand_id, (first.c.load + place if fair else literal(0)).label("turn"))
        .join(
            first,
            and_(
                entry.c.demand_id == first.c.id,
                entry.c.job_id <= func.coalesce(first.c.last, literal(_ANY_ID, BigInteger)),
            ),
        )
        .subquery("waiting")
    )
    found = select(waiting.c.job_id, waiting.c.demand_id).order_by(waiting.c.turn, waiting.c.job_id)
    return (found.where(_moves(waiting.c.job_id)) if shape.is_copy else found).limit(_MAX_JOBS)


def _first_demands(shape: _Shape, *, fair: bool) -> Subquery:
    """Demands in the order of the earliest turn that their oldest job can have, and the last job that can have one.

    The n-th demand of a project cannot come before the n-th turn of the project.
    """
    present = queue_counts.DEMANDS
    ids = select(entry.c.job_id).order_by(entry.c.job_id).limit(1)
    if shape.is_copy:
        ids = ids.where(_moves(entry.c.job_id))
    load = select(lease.c.load_of, func.count().label("jobs")).where(lease.c.load_of.is_not(None))
    held = load.group_by(lease.c.load_of).subquery("held")
    source = present.join(demand, demand.c.id == present.c.id).join(project, project.c.id == demand.c.project_id)
    eligible = (
        select(
            demand.c.id,
            demand.c.project_id,
            ids.where(entry.c.demand_id == demand.c.id).scalar_subquery().label("oldest"),
            (func.coalesce(held.c.jobs, 0) if fair else literal(0)).label("load"),
        )
        .select_from(source.outerjoin(held, held.c.load_of == demand.c.project_id) if fair else source)
        .where(*_eligible(shape))
        .subquery("eligible")
    )
    place = func.row_number().over(partition_by=eligible.c.project_id, order_by=eligible.c.oldest) - 1
    turn = (eligible.c.load + place if fair else literal(0)).label("turn")
    # In a copy all jobs of a demand may stand still.
    there = eligible.c.oldest.is_not(None) if shape.is_copy else true()
    ranked = select(eligible, turn).where(there).subquery("ranked")
    first = select(ranked).order_by(ranked.c.turn, ranked.c.oldest).limit(_MAX_JOBS).subquery("first")
    last = ids.offset(bindparam("b_others", type_=Integer)).where(entry.c.demand_id == first.c.id).scalar_subquery()
    return select(first, last.label("last")).subquery("first_demands")


_wanted = (
    func.unnest(cast(bindparam("b_demands"), ARRAY(BigInteger)), cast(bindparam("b_jobs"), ARRAY(Integer)))
    .table_valued("demand_id", "jobs", name="wanted")
    .render_derived()
)
_columns = (job.c.project_id, job.c.hand_out, job.c.environment_action, job.c.status)
_oldest = (
    select(entry.c.job_id, entry.c.demand_id, *_columns)
    .join(job, job.c.id == entry.c.job_id)
    .where(entry.c.demand_id == _wanted.c.demand_id, job.c.pipeline_id > HELD)
    .order_by(entry.c.job_id)
    .limit(_wanted.c.jobs)
    .with_for_update(skip_locked=True, of=[job, entry])
    .lateral("oldest")
)


def _startable(status: ColumnElement[str]) -> ColumnElement[bool]:
    return or_(*(status == source for source in sources_of(Status.RUNNING)))


_HOLD: Final = select(_oldest).select_from(_wanted.join(_oldest, true())).where(_startable(_oldest.c.status))
_HOLD_AS_SERVER: Final = (
    select(_oldest)
    .select_from(_wanted.join(_oldest, true()).join(project, project.c.id == _oldest.c.project_id))
    .where(_startable(_oldest.c.status), _MAY_RUN_AS_SERVER)
)
_READ: Final = (
    select(entry.c.job_id, entry.c.demand_id, *_columns)
    .join(job, job.c.id == entry.c.job_id)
    .where(entry.c.job_id.in_(bindparam("b_jobs", expanding=True)), _startable(job.c.status))
    .order_by(entry.c.job_id)
)
