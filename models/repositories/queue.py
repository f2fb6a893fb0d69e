"""The queue of pending jobs as runners see it: what there is for one of them, and whose turn it is.

All eligibility is here, in SQL (reference: runner protocol, section 11); `domain.matching` says the same in Python, and
a property test compares the two. Jobs are looked through by what they have in common, so that a thousand jobs that a
runner cannot take cost as little as one.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from sqlalchemy import ColumnElement, Select, and_, bindparam, exists, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.matching import RunnerType
from models.columns import Record, table_of
from models.pipelines import Lease, QueueDemand, QueueDemandTag, QueueEntry
from models.repositories import pending
from models.repositories.job_rows import job
from models.tables import Project, Runner, RunnerProject

entry = table_of(QueueEntry)
demand = table_of(QueueDemand)
demand_tag = table_of(QueueDemandTag)
lease = table_of(Lease)
project = table_of(Project)
runner = table_of(Runner)
runner_project = table_of(RunnerProject)

_GIVEN: Final = (
    select(func.min(lease.c.job_id))
    .join(job, job.c.id == lease.c.job_id)
    .where(lease.c.request_id == bindparam("b_request"), ~lease.c.taken_up, job.c.runner_id == bindparam("b_runner"))
    .scalar_subquery()
)
_RUNNER: Final = (
    select(runner, _GIVEN.label("given"))
    .where(runner.c.id == bindparam("b_runner"), ~runner.c.paused)
    .with_for_update(of=runner, read=True, key_share=True)
)
"""Held until the claim ends: a runner is not removed while it is given a job."""


@dataclass(frozen=True, slots=True)
class _Shape:
    """What makes the statement of one runner differ from that of another."""

    runner_type: RunnerType
    tags: bool
    run_untagged: bool
    ref_protected: bool


async def runner_of(connection: AsyncConnection, runner_id: int, request_id: str = "") -> Record | None:
    """The runner as it is now; None when it is paused or gone.

    `given` is a job that this request was given already and for which nobody has called: its answer was lost.
    """
    asked = {"b_runner": runner_id, "b_request": request_id or None}
    return (await connection.execute(_RUNNER, asked)).first()


async def demands_for(connection: AsyncConnection, row: Record) -> list[int]:
    """The demands of which jobs wait that this runner may take, in the order of their turn; a look that locks nothing.

    An instance runner takes from the project of which instance runners hold the fewest jobs; all take the oldest job.
    """
    shape = _Shape(RunnerType(row.runner_type), bool(row.tags), row.run_untagged, row.ref_protected)
    values: dict[str, Any] = {"b_tags": list(row.tags)} if row.tags else {}
    if shape.runner_type is not RunnerType.INSTANCE:
        values["b_organisation"] = row.organisation_id
    if shape.runner_type is RunnerType.PROJECT:
        values["b_runner"] = row.id
    return list((await connection.execute(_turns(shape), values)).scalars())


def _eligible(shape: _Shape) -> list[ColumnElement[bool]]:
    foreign = exists().where(demand_tag.c.demand_id == demand.c.id)
    if shape.tags:
        foreign = foreign.where(demand_tag.c.tag.not_in(bindparam("b_tags", expanding=True)))
    rules = [~and_(demand.c.tagged, foreign)]
    if not shape.run_untagged:
        rules.append(demand.c.tagged)
    if shape.ref_protected:
        rules.append(demand.c.ref_protected)
    if shape.runner_type is RunnerType.INSTANCE:
        return [*rules, project.c.shared_runners_enabled]
    rules.append(demand.c.organisation_id == bindparam("b_organisation"))
    if shape.runner_type is RunnerType.GROUP:
        return [*rules, project.c.group_runners_enabled]
    linked = select(runner_project.c.project_id).where(runner_project.c.runner_id == bindparam("b_runner"))
    return [*rules, demand.c.project_id.in_(linked)]


@cache
def _turns(shape: _Shape) -> Select[Any]:
    present = pending.DEMANDS
    oldest = select(func.min(entry.c.job_id)).where(entry.c.demand_id == demand.c.id).scalar_subquery()
    statement = (
        select(demand.c.id)
        .select_from(
            present.join(demand, demand.c.id == present.c.id).join(project, project.c.id == demand.c.project_id)
        )
        .where(*_eligible(shape))
    )
    if shape.runner_type is not RunnerType.INSTANCE:
        return statement.order_by(oldest)
    load = select(lease.c.load_of, func.count().label("jobs")).where(lease.c.load_of.is_not(None))
    held = load.group_by(lease.c.load_of).cte("held")
    statement = statement.outerjoin(held, held.c.load_of == demand.c.project_id)
    return statement.order_by(func.coalesce(held.c.jobs, 0), oldest)


OLDEST: Final = (
    select(entry.c.job_id)
    .join(job, job.c.id == entry.c.job_id)
    .where(entry.c.demand_id == bindparam("b_demand"))
    .order_by(entry.c.job_id)
    .limit(1)
    .with_for_update(skip_locked=True, of=[job, entry])
)
"""The oldest job of a demand; one that another transaction holds is passed over.

The job itself is locked with its entry: who cancels it waits for neither or for both.
"""
