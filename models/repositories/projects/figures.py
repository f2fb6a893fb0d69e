"""Figures of a project's jobs over time. Each statement looks at so many rows at most, however many there are."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, Final

from sqlalchemy import (
    CTE,
    ColumnElement,
    Float,
    Integer,
    Select,
    String,
    and_,
    bindparam,
    case,
    cast,
    func,
    select,
    union_all,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.pipelines.figures import Covered, Figures
from domain.pipelines.status import Status
from models.columns import Moment, table_of
from models.repositories.pipelines.job_rows import job
from models.tables.commit_statuses import CommitStatus
from models.tables.pipelines import Pipeline
from models.typed_rows import all_of

pipeline = table_of(Pipeline)
status = table_of(CommitStatus)

NEWEST: Final[dict[str, int]] = {"sqlite": 10_000, "postgresql": 50_000}
"""So many jobs count at most, and so many pipelines: by dialect, since SQLite runs where everything else waits."""
MAX_NAMES: Final = 200
"""Jobs by name, those that run most."""
_SINCE: Final = bindparam("b_since", type_=Moment)


@dataclass(frozen=True, slots=True)
class Reach:
    """How far figures go back: to `since`, and whether all jobs from then on count."""

    since: datetime
    whole: bool


@cache
def _window(dialect: str) -> CTE:
    """The newest jobs of the project that ended by themselves."""
    newest = select(job.c.name, job.c.status, job.c.started_at, job.c.finished_at).where(
        job.c.project_id == bindparam("b_project"),
        job.c.finished_at > _SINCE,
        job.c.started_at.is_not(None),
        job.c.status.in_((Status.SUCCESS, Status.FAILED)),
        ~job.c.bridge,
    )
    return newest.order_by(job.c.finished_at.desc()).limit(NEWEST[dialect]).cte("newest")


@cache
def _by(dialect: str, *, name_given: bool) -> Select[Any]:
    """Figures by name, or with one given by day."""
    newest = _window(dialect)
    key = _day(dialect, newest.c.finished_at) if name_given else newest.c.name
    seconds = _seconds(dialect, newest.c.started_at, newest.c.finished_at)
    ranked = select(
        key.label("key"),
        newest.c.status,
        seconds.label("seconds"),
        func.row_number().over(partition_by=key, order_by=seconds).label("place"),
        func.count().over(partition_by=key).label("number"),
    )
    of = (ranked.where(newest.c.name == bindparam("b_name")) if name_given else ranked).subquery("ranked")

    def percentile(percent: int) -> ColumnElement[Any]:
        """The value at the nearest rank."""
        return func.max(case((of.c.place == (of.c.number * percent + 99) // 100, of.c.seconds)))

    statement = select(
        of.c.key,
        func.count().label("number"),
        func.sum(case((of.c.status == Status.SUCCESS, 1), else_=0), type_=Integer).label("succeeded"),
        percentile(50).label("p50"),
        percentile(95).label("p95"),
    ).group_by(of.c.key)
    if name_given:
        return statement.order_by(of.c.key)
    return statement.order_by(func.count().desc(), of.c.key).limit(MAX_NAMES)


def _day(dialect: str, moment: ColumnElement[Any]) -> ColumnElement[Any]:
    """The day of a moment in UTC, as text."""
    if dialect == "sqlite":
        return func.date(cast(moment, String), type_=String)
    return func.to_char(func.timezone("UTC", moment), "YYYY-MM-DD", type_=String)


def _seconds(dialect: str, begin: ColumnElement[Any], end: ColumnElement[Any]) -> ColumnElement[Any]:
    if dialect == "sqlite":
        return (func.julianday(end, type_=Float) - func.julianday(begin, type_=Float)) * 86400.0
    return cast(func.extract("epoch", end - begin), Float)


@cache
def _reach(dialect: str) -> Select[Any]:
    newest = _window(dialect)
    columns: list[ColumnElement[Any]] = [func.count(), func.min(newest.c.finished_at, type_=Moment)]
    return select(*columns)


async def reach(connection: AsyncConnection, project_id: int, since: datetime) -> Reach:
    """How far back figures go that are wanted since then."""
    dialect = connection.dialect.name
    number, oldest = (await connection.execute(_reach(dialect), {"b_project": project_id, "b_since": since})).one()
    whole = number < NEWEST[dialect]
    return Reach(since if whole or oldest is None else oldest, whole)


async def by_name(connection: AsyncConnection, project_id: int, since: datetime) -> Sequence[Figures]:
    """Figures of a project's jobs by their names, those first that run most."""
    wanted = {"b_project": project_id, "b_since": since}
    statement = _by(connection.dialect.name, name_given=False)
    return all_of(Figures, await connection.execute(statement, wanted))


async def by_day(connection: AsyncConnection, project_id: int, name: str, since: datetime) -> Sequence[Figures]:
    """Figures of the jobs of one name by the day on which they ended, the oldest first."""
    wanted = {"b_project": project_id, "b_name": name, "b_since": since}
    statement = _by(connection.dialect.name, name_given=True)
    return all_of(Figures, await connection.execute(statement, wanted))


@cache
def _covered(dialect: str) -> Select[Any]:
    newest = (
        select(
            pipeline.c.id,
            pipeline.c.ref,
            pipeline.c.tag,
            pipeline.c.merge_request_id,
            pipeline.c.sha,
            pipeline.c.status,
            pipeline.c.created_at,
        )
        .where(pipeline.c.project_id == bindparam("b_project"), pipeline.c.created_at > _SINCE)
        .order_by(pipeline.c.created_at.desc())
        .limit(NEWEST[dialect])
        .subquery("newest")
    )
    which = and_(
        newest.c.ref == bindparam("b_ref"),
        ~newest.c.tag,
        newest.c.merge_request_id.is_(None),
        newest.c.status == Status.SUCCESS,
    )
    told = union_all(
        *(
            select(newest.c.id, newest.c.sha, newest.c.created_at, table.c.coverage)
            .join(table, table.c.pipeline_id == newest.c.id)
            .where(which, table.c.coverage.is_not(None), ~table.c.retried)
            for table in (job, status)
        )
    ).subquery("told")
    return (
        select(
            told.c.id.label("pipeline_id"), told.c.sha, told.c.created_at, func.avg(told.c.coverage).label("coverage")
        )
        .group_by(told.c.id, told.c.sha, told.c.created_at)
        .order_by(told.c.id)
    )


async def covered(connection: AsyncConnection, project_id: int, ref: str, since: datetime) -> Sequence[Covered]:
    """The coverage of the successful pipelines of a branch, the oldest first."""
    wanted = {"b_project": project_id, "b_ref": ref, "b_since": since}
    return all_of(Covered, await connection.execute(_covered(connection.dialect.name), wanted))
