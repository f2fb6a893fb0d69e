"""Rows of a year: a small home multiplied in SQL, the same on SQLite and PostgreSQL.

Each copy of the ended pipelines is one `INSERT ... SELECT` a table, which moves ids, projects and times. Projects are
as uneven as they are in life: of 200 the first has a tenth of all jobs. Nearly all that is written has ended.
"""

import math
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    MetaData,
    String,
    Table,
    case,
    cast,
    func,
    insert,
    literal_column,
    select,
    text,
    update,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from bench.growth.home import Builder
from models.clock import system_clock
from models.columns import POINTS_TO, Moment, table_of
from models.schema import METADATA
from models.session import Database
from models.tables.pipelines import Pipeline
from models.tables.projects import Project

PROJECTS: Final = 200
_YEAR: Final = timedelta(days=365)
_RECENT: Final = timedelta(minutes=10)
"""What is open was made since then: no job has waited so long that the sweeper ends it."""
_UNEVEN: Final = 2.3
"""The power by which copies crowd into the first projects: with 200 of them a tenth lands in the first one."""
_GOLDEN: Final = (math.sqrt(5) - 1) / 2
COMMITS: Final = tuple(f"{number:040x}" for number in range(1, 11))
"""Those of the pipelines where the repositories do not matter."""

_OF_PROJECTS: Final = ("resource_group", "environment", "unit_test", "queue_demand")
"""Tables whose rows each project has once."""
_OF_PIPELINES: Final = tuple(
    "pipeline stage job pipeline_config artifact deployment test_report trace unit_test_run push contribution "
    "queue_entry".split()
)
"""Tables whose rows each copy of the pipelines has."""
_REFERENCES: Final = {"first_id": "job", "bridge_id": "job", "holder_id": "job", "demand_id": "queue_demand"}
"""What a column points to that says so nowhere."""
_KEYS: Final = ("id", "job_id", "pipeline_id")
"""By the first of these that a table has, its rows are told from those of other copies."""

_copies = Table(
    "growth_copy",
    MetaData(),
    Column("k", BigInteger, primary_key=True, autoincrement=False),
    Column("nth", BigInteger),
    Column("project", BigInteger),
    Column("project_id", BigInteger),
    Column("seconds", BigInteger),
    prefixes=["TEMPORARY"],
)
"""The copies to make: the number among all, among those of the project, the project's number and id, the time later."""


@dataclass(slots=True)
class Home:
    """What there is: the account that owns all, projects (the largest first) and runners by id; jobs that wait."""

    user: int
    projects: Sequence[int]
    runners: Sequence[int]
    jobs: int
    waiting: int


@dataclass(slots=True)
class _Ranges:
    """The first id of a template and how many there are, by table: that of pipelines, and those of the projects."""

    of_pipelines: dict[str, tuple[int, int]] = field(default_factory=dict)
    of_projects: dict[str, tuple[int, int]] = field(default_factory=dict)


async def multiply(
    database: Database,
    jobs: int = 100_000,
    waiting: int = 0,
    *,
    projects: int = PROJECTS,
    commits: Sequence[str] = COMMITS,
) -> Home:
    """Fill an empty database with the newest schema: at least so many jobs that ended, so many that wait for a runner.

    The pipelines are of these commits in turn. A hundred thousand jobs take some seconds.
    """
    async with unchecked(database) as connection:
        begun = system_clock() - _YEAR
        builder, ranges = Builder(connection, begun, commits), _Ranges()
        await builder.people(projects)
        await connection.run_sync(_copies.create)
        await builder.ended()
        ranges.of_projects = {name: await _range(connection, name) for name in _OF_PROJECTS}
        ranges.of_pipelines = {name: await _range(connection, name) for name in _OF_PIPELINES}
        one_each = list(_one_each(builder.projects))
        await _copy(connection, _OF_PROJECTS, ranges, one_each)
        per_copy = ranges.of_pipelines["job"][1]
        copies = list(_spread(builder.projects, math.ceil(jobs / per_copy) - 1))
        await _copy(connection, _OF_PIPELINES, ranges, copies)
        await _count(connection)
        made = await _rows(connection, "job")
        builder.begun = system_clock() - _RECENT
        await builder.open()
        if waiting:
            after = {name: await _last(connection, name) for name in _OF_PIPELINES}
            await builder.waiting()
            ranges.of_pipelines = {name: await _range(connection, name, after[name]) for name in _OF_PIPELINES}
            per_copy = ranges.of_pipelines["job"][1]
            further = list(_spread(builder.projects, math.ceil(waiting / per_copy) - 1, _RECENT))
            await _copy(connection, _OF_PIPELINES, ranges, further)
            await _count(connection)
        await connection.run_sync(_copies.drop)
        queued = await _rows(connection, "queue_entry")
    async with database.write() as connection:
        await connection.execute(text("ANALYZE"))
    return Home(builder.user, builder.projects, builder.runners, made, queued)


@asynccontextmanager
async def unchecked(database: Database) -> AsyncIterator[AsyncConnection]:
    """A transaction in which no foreign key is looked at: what is copied refers to what was copied with it."""
    if database.is_sqlite:
        async with database.read() as connection:
            await connection.execute(text("PRAGMA foreign_keys=OFF"))
            await connection.execute(text("BEGIN IMMEDIATE"))
            try:
                yield connection
                await connection.execute(text("COMMIT"))
            except BaseException:
                await connection.execute(text("ROLLBACK"))
                raise
            finally:
                await connection.execute(text("PRAGMA foreign_keys=ON"))
    else:
        async with database.write() as connection:
            await connection.execute(text("SET LOCAL session_replication_role = replica"))
            yield connection


def _one_each(projects: Sequence[int]) -> Iterator[dict[str, int]]:
    """A copy for each project but the first, which has the original."""
    for number, project_id in enumerate(projects[1:], 1):
        yield {"k": number, "nth": 0, "project": number, "project_id": project_id, "seconds": 0}


def _spread(projects: Sequence[int], copies: int, within: timedelta = _YEAR) -> Iterator[dict[str, int]]:
    """So many copies, one after the other within the time, most of them in the first projects."""
    had = [0] * len(projects)
    had[0] = 1  # the original
    for k in range(1, copies + 1):
        number = int(len(projects) * (k * _GOLDEN % 1) ** _UNEVEN)
        seconds = int(within.total_seconds() * k / (copies + 1))
        yield {"k": k, "nth": had[number], "project": number, "project_id": projects[number], "seconds": seconds}
        had[number] += 1


async def _copy(
    connection: AsyncConnection, names: Sequence[str], ranges: _Ranges, copies: Sequence[dict[str, int]]
) -> None:
    """Insert the copies of the templates in these tables."""
    await connection.execute(_copies.delete())
    if not copies:
        return
    await connection.execute(insert(_copies), copies)
    for name in names:
        table = METADATA.tables[name]
        first, number = ranges.of_projects.get(name) or ranges.of_pipelines[name]
        if not number:
            continue
        key = _key_of(table)
        columns = [_moved(column, ranges, connection.dialect.name) for column in table.columns]
        source = select(*columns).select_from(_copies.join(table, literal_column("1") == literal_column("1")))
        chosen = source.where(key.between(first, first + _span(table, ranges) - 1)).order_by(_copies.c.k, key)
        await connection.execute(insert(table).from_select([column.name for column in table.columns], chosen))
        if connection.dialect.name == "postgresql" and "id" in table.columns:
            last = f"(SELECT max(id) FROM {name})"
            await connection.execute(text(f"SELECT setval(pg_get_serial_sequence('{name}', 'id'), {last})"))


def _key_of(table: Table) -> Column[int]:
    return next(table.columns[name] for name in _KEYS if name in table.columns)


def _target(column: Column[Any]) -> str:
    """The table that a column names rows of, its own for the key; empty for none."""
    if column.name == "id":
        return str(column.table.name)
    for reference in column.foreign_keys:
        return reference.column.table.name
    return str(column.info.get(POINTS_TO) or _REFERENCES.get(column.name, ""))


def _span(table: Table, ranges: _Ranges) -> int:
    """How far apart the keys of two copies are."""
    key = _key_of(table)
    name = _target(key)
    return (ranges.of_projects.get(name) or ranges.of_pipelines[name])[1]


def _moved(column: Column[Any], ranges: _Ranges, dialect: str) -> ColumnElement[Any]:
    """What a column has in a copy."""
    target = _target(column)
    if column.name == "project_id":
        return _copies.c.project_id
    if target in ranges.of_projects:
        return column + _copies.c.project * ranges.of_projects[target][1]
    if target in ranges.of_pipelines:
        return column + _copies.c.k * ranges.of_pipelines[target][1]
    if column.name == "iid":
        return column + _copies.c.nth * ranges.of_pipelines[column.table.name][1]
    if column.name == "since":
        return column + _copies.c.seconds
    if column.name == "ref":
        return case((column == "main", column), else_=column + "-" + cast(_copies.c.k, String))
    if column.name == "object_key":
        return _object_key(column.table, ranges)
    if isinstance(column.type, Moment):
        if dialect == "postgresql":
            return column.op("+")(func.make_interval(0, 0, 0, 0, 0, 0, _copies.c.seconds))
        shift = cast(_copies.c.seconds, String) + " seconds"
        return func.strftime("%Y-%m-%d %H:%M:%f000", column, shift)
    return column


def _object_key(table: Table, ranges: _Ranges) -> ColumnElement[str]:
    """As the API names it, but that it counts where the API takes chance."""
    job_id = table.c.job_id + _copies.c.k * ranges.of_pipelines["job"][1]
    folder = "projects/" + cast(_copies.c.project_id, String) + "/jobs/" + cast(job_id, String)
    return folder + "/" + table.c.file_type + "-0"


async def _range(connection: AsyncConnection, name: str, after: int = 0) -> tuple[int, int]:
    """The first key behind `after`, and how many there are from there to the last."""
    key = _key_of(METADATA.tables[name])
    first, last = (await connection.execute(select(func.min(key), func.max(key)).where(key > after))).one()
    return (0, 0) if first is None else (first, last - first + 1)


async def _last(connection: AsyncConnection, name: str) -> int:
    return int(
        (await connection.execute(select(func.coalesce(func.max(_key_of(METADATA.tables[name])), 0)))).scalar_one()
    )


async def _rows(connection: AsyncConnection, name: str) -> int:
    return int((await connection.execute(select(func.count()).select_from(METADATA.tables[name]))).scalar_one())


async def _count(connection: AsyncConnection) -> None:
    """Let each project know how many pipelines and deployments it has had."""
    project = table_of(Project)
    for column, table in (("pipeline_count", table_of(Pipeline)), ("deployment_count", METADATA.tables["deployment"])):
        most = select(func.coalesce(func.max(table.c.iid), 0)).where(table.c.project_id == project.c.id)
        await connection.execute(update(project).values({column: most.scalar_subquery()}))
