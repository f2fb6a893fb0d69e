"""Runners of a pod in figures: by type and status, by what they take, and by the version of their processes."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import ColumnElement, case, func, literal, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.pods.tag_sets import ServedTagSet, served_tag_sets
from domain.runners.matching import RunnerType
from domain.runners.status import ONLINE_FOR, STALE_AFTER, Connection
from models.columns import table_of
from models.repositories.runners.runners import job, manager, runner
from models.tables.queue import Lease

lease = table_of(Lease)

_HOLDERS: Final = select(job.c.runner_id).join(lease, lease.c.job_id == job.c.id).where(job.c.runner_id.is_not(None))
"""Runners that hold a job, found from the jobs that run: never by all that a runner ever did."""
_WORDS: Final = ("tags", "runner_type", "run_untagged", "ref_protected", "as_server")
_VERSION: Final = func.coalesce(manager.c.info["version"].as_string(), "")


@dataclass(frozen=True, slots=True)
class RunnerCount:
    """Runners of one type: by status, those that are paused too; and how many of all are paused."""

    by_status: Mapping[Connection, int]
    paused: int


async def by_type(connection: AsyncConnection, now: datetime) -> dict[RunnerType, RunnerCount]:
    """Every type with its runners; `now` is the database's clock."""
    status = _status(now).label("status")
    each = select(runner.c.runner_type, runner.c.paused, status).subquery("each")
    columns = (each.c.runner_type, each.c.paused, each.c.status)
    rows = (await connection.execute(select(*columns, func.count().label("number")).group_by(*columns))).all()
    return {kind: _counted([row for row in rows if row.runner_type == kind]) for kind in RunnerType}


def _counted(rows: list[Any]) -> RunnerCount:
    by_status = {one: sum(row.number for row in rows if row.status == one) for one in Connection}
    return RunnerCount(by_status, sum(row.number for row in rows if row.paused))


def _status(now: datetime) -> ColumnElement[str]:
    """`domain.runners.status.connection_of` as a column."""
    return case(
        (runner.c.id.in_(_HOLDERS), literal(Connection.ONLINE.value)),
        (
            func.coalesce(runner.c.contacted_at, runner.c.created_at) < now - STALE_AFTER,
            literal(Connection.STALE.value),
        ),
        (runner.c.contacted_at.is_(None), literal(Connection.NEVER_CONTACTED.value)),
        (runner.c.contacted_at >= now - ONLINE_FOR, literal(Connection.ONLINE.value)),
        else_=literal(Connection.OFFLINE.value),
    )


async def tag_sets(connection: AsyncConnection, now: datetime, online: float) -> list[ServedTagSet]:
    """What the runners of the pod take; one that was silent for more than `online` seconds and holds no job is silent.

    `now` is the database's clock.
    """
    is_available = or_(
        runner.c.id.in_(_HOLDERS), func.coalesce(runner.c.contacted_at >= now - timedelta(seconds=online), False)
    )
    state = case((runner.c.paused, "paused"), (is_available, "available"), else_="silent").label("state")
    each = select(*(runner.c[name] for name in _WORDS), state).subquery("each")
    kinds = [each.c[name] for name in _WORDS]
    counts = [func.sum(case((each.c.state == one, 1), else_=0)).label(one) for one in ("available", "silent", "paused")]
    rows = await connection.execute(select(*kinds, *counts).group_by(*kinds))
    return served_tag_sets(
        ServedTagSet(
            tags=tuple(row.tags),
            runner_type=RunnerType(row.runner_type),
            run_untagged=row.run_untagged,
            ref_protected=row.ref_protected,
            as_server=row.as_server,
            available=int(row.available),
            silent=int(row.silent),
            paused=int(row.paused),
        )
        for row in rows
    )


async def versions(connection: AsyncConnection, since: datetime) -> dict[str, int]:
    """How many processes of runners that called since then have each version; empty for those that say none."""
    version = _VERSION.label("version")
    each = select(version).where(manager.c.contacted_at >= since).subquery("each")
    statement = select(each.c.version, func.count().label("number")).group_by(each.c.version)
    rows = (await connection.execute(statement.order_by(each.c.version))).all()
    return {row.version: row.number for row in rows}
