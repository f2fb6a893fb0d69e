"""Lists of runners, narrowed as GitLab's API does, and what is shown beside each of them."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import ColumnElement, String, and_, cast, exists, func, literal, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.runners.info import LEGACY_SYSTEM_ID
from domain.runners.matching import RunnerType
from domain.runners.status import ONLINE_FOR, STALE_AFTER, Connection, Holds
from models.columns import table_of
from models.repositories.accounts import members
from models.repositories.namespaces.namespaces import namespace
from models.repositories.paging import Listing
from models.repositories.pipelines import jobs
from models.repositories.projects.projects import Viewer, visible
from models.repositories.queue import leases
from models.repositories.runners.runners import job, manager, project, runner, runner_project
from models.rows.namespaces import NamespaceRow
from models.rows.pipelines import ListedJobRow
from models.rows.projects import ProjectRow
from models.rows.runners import RunnerManagerRow, RunnerRow
from models.tables.queue import Lease
from models.typed_rows import all_of

lease = table_of(Lease)

_LISTED: Final = select(runner).order_by(runner.c.id.desc())
_group: Final = func.coalesce(runner.c.namespace_id, runner.c.organisation_id)
"""The group of a group runner."""
# Begins at the leases, which are few: no index finds their rows.
_BUSY: Final = runner.c.id.in_(
    select(job.c.runner_id).join(lease, lease.c.job_id + 0 == job.c.id).where(job.c.runner_id.is_not(None))
)


@dataclass(frozen=True, slots=True)
class RunnerFilter:
    """Which runners of a list; empty fields do not narrow. Those with all of `tags`; `search` is in the description."""

    runner_type: str = ""
    status: str = ""
    paused: bool | None = None
    tags: tuple[str, ...] = ()
    version_prefix: str = ""
    search: str = ""
    organisation_id: int | None = None


def everything() -> Listing[RunnerRow]:
    """Statement for all runners, newest first, as the others here."""
    return Listing(_LISTED, RunnerRow)


def of_person(user_id: int, level: int) -> Listing[RunnerRow]:
    """Statement for the group and project runners that work for projects in which a person has `level`."""
    return _those(_near(user_id, level))


def seen_by(user_id: int, level: int) -> Listing[RunnerRow]:
    """Statement for the same runners, and those of the instance: all that a person may know of."""
    return _those(or_(_near(user_id, level), runner.c.runner_type == RunnerType.INSTANCE))


def _near(user_id: int, level: int) -> ColumnElement[bool]:
    held = members.project_ids(user_id, level)
    linked = select(runner_project.c.runner_id).where(runner_project.c.project_id.in_(held))
    trails = select(namespace.c.trail).join(project, project.c.namespace_id == namespace.c.id)
    own = select(namespace.c.trail).where(namespace.c.id.in_(members.namespace_ids(user_id, level)))
    near = trails.where(project.c.id.in_(held)).union(own).subquery("near")
    of_group = and_(runner.c.runner_type == RunnerType.GROUP, exists().where(_on_the_way(near.c.trail)))
    return or_(of_group, runner.c.id.in_(linked))


def of_project(row: ProjectRow) -> Listing[RunnerRow]:
    """Statement for the runners that may take jobs of a project, as it is now."""
    linked = select(runner_project.c.runner_id).where(runner_project.c.project_id == row.id)
    rules: list[ColumnElement[bool]] = [runner.c.id.in_(linked)]
    if row.group_runners_enabled:
        above = select(namespace.c.trail).where(namespace.c.id == row.namespace_id).scalar_subquery()
        rules.append(_group_runners(above))
    if row.shared_runners_enabled:
        rules.append(runner.c.runner_type == RunnerType.INSTANCE)
    return _those(or_(*rules))


def of_group(row: NamespaceRow) -> Listing[RunnerRow]:
    """Statement for the runners that may take jobs of a group: its own, of groups above it, and of the instance."""
    above = literal(row.trail)
    return _those(or_(_group_runners(above), runner.c.runner_type == RunnerType.INSTANCE))


def _those(rule: ColumnElement[bool]) -> Listing[RunnerRow]:
    return Listing(_LISTED.where(rule), RunnerRow)


def _group_runners(trail: ColumnElement[str]) -> ColumnElement[bool]:
    """The runners of the groups of a trail."""
    return and_(runner.c.runner_type == RunnerType.GROUP, _on_the_way(trail))


def _on_the_way(trail: ColumnElement[str]) -> ColumnElement[bool]:
    return trail.like(literal("%/") + cast(_group, String) + literal("/%"))


def narrowed(runners: Listing[RunnerRow], wanted: RunnerFilter, dialect: str, now: datetime) -> Listing[RunnerRow]:
    """The same list, less what the filter leaves out; `now` is the database's clock."""
    statement = runners.statement
    if wanted.runner_type:
        statement = statement.where(runner.c.runner_type == wanted.runner_type)
    if wanted.status:
        statement = statement.where(_STATUS[Connection(wanted.status)](now))
    if wanted.paused is not None:
        statement = statement.where(runner.c.paused == wanted.paused)
    if wanted.version_prefix:
        version = manager.c.info["version"].as_string()
        known = and_(manager.c.runner_id == runner.c.id, version.startswith(wanted.version_prefix, autoescape=True))
        statement = statement.where(exists().where(known))
    if wanted.search:
        found = func.lower(runner.c.description).contains(wanted.search.lower(), autoescape=True)
        statement = statement.where(found)
    if wanted.organisation_id is not None:
        statement = statement.where(runner.c.organisation_id == wanted.organisation_id)
    return Listing(statement.where(*(_has_tag(tag, dialect) for tag in wanted.tags)), RunnerRow)


def _has_tag(tag: str, dialect: str) -> ColumnElement[bool]:
    if dialect == "sqlite":
        tags = func.json_each(runner.c.tags).table_valued("value")
    else:
        tags = func.jsonb_array_elements_text(runner.c.tags).table_valued("value", name="tag").render_derived()
    return exists(select(tags.c.value).where(tags.c.value == tag).correlate(runner))


def _online(now: datetime) -> ColumnElement[bool]:
    return or_(runner.c.contacted_at >= now - ONLINE_FOR, _BUSY)


def _fresh(now: datetime) -> ColumnElement[bool]:
    return func.coalesce(runner.c.contacted_at, runner.c.created_at) >= now - STALE_AFTER


_STATUS: Final[Mapping[Connection, Callable[[datetime], ColumnElement[bool]]]] = {
    Connection.ONLINE: _online,
    Connection.OFFLINE: lambda now: and_(~_online(now), _fresh(now), runner.c.contacted_at.is_not(None)),
    Connection.STALE: lambda now: and_(~_BUSY, ~_fresh(now)),
    Connection.NEVER_CONTACTED: lambda now: and_(~_BUSY, _fresh(now), runner.c.contacted_at.is_(None)),
}
"""`domain.runners.status.connection_of` as a question to the database."""


async def among(
    connection: AsyncConnection, runners: Listing[RunnerRow], runner_ids: Iterable[int]
) -> dict[int, RunnerRow]:
    """Those of a list that have these ids."""
    statement = runners.statement.where(runner.c.id.in_(sorted(runner_ids)))
    return {row.id: row for row in all_of(RunnerRow, await connection.execute(statement))}


async def holding(connection: AsyncConnection, runner_ids: Iterable[int], ticks: int) -> Mapping[int, Holds]:
    """Those of the runners that hold jobs; silent ones have called for none of them for more than `ticks`."""
    found: dict[int, Holds] = {}
    for (runner_id, _), holds in (await holding_processes(connection, runner_ids, ticks)).items():
        found[runner_id] = Holds.HEARD if Holds.HEARD in {found.get(runner_id), holds} else holds
    return found


async def holding_processes(
    connection: AsyncConnection, runner_ids: Iterable[int], ticks: int
) -> Mapping[tuple[int, str], Holds]:
    """The processes of these runners that hold jobs, by runner and system id."""
    wanted = list(runner_ids)
    if not wanted:
        return {}
    heard = func.max(lease.c.contact) >= leases.NOW - ticks
    statement = select(job.c.runner_id, job.c.system_id, heard.label("heard")).join(lease, lease.c.job_id == job.c.id)
    rows = await connection.execute(
        statement.where(job.c.runner_id.in_(wanted)).group_by(job.c.runner_id, job.c.system_id)
    )
    return {
        (row.runner_id, row.system_id or LEGACY_SYSTEM_ID): Holds.HEARD if row.heard else Holds.SILENT for row in rows
    }


async def managers(
    connection: AsyncConnection, processes: Collection[tuple[int, str]]
) -> dict[tuple[int, str], RunnerManagerRow]:
    """What processes said of themselves, by runner and system id; one that was silent for long has left nothing."""
    if not processes:
        return {}
    runner_ids, system_ids = ({process[place] for process in processes} for place in (0, 1))
    statement = select(manager).where(manager.c.runner_id.in_(runner_ids), manager.c.system_id.in_(system_ids))
    rows = all_of(RunnerManagerRow, await connection.execute(statement))
    return {(row.runner_id, row.system_id): row for row in rows}


@dataclass(frozen=True, slots=True)
class JobFilter:
    """Which jobs of a runner; empty fields do not narrow.

    `reader` narrows to open projects, and those in which this person has `level`.
    """

    status: str = ""
    system_id: str = ""
    reader: Viewer | None = None
    level: int = 0
    ascending: bool = False


def jobs_of(runner_id: int, wanted: JobFilter) -> Listing[ListedJobRow]:
    """Statement for the jobs that a runner holds or held, newest first."""
    statement = select(*jobs.LISTED).where(job.c.runner_id == runner_id)
    statement = statement.order_by(job.c.id.asc() if wanted.ascending else job.c.id.desc())
    if wanted.status:
        statement = statement.where(job.c.status == wanted.status)
    if wanted.system_id:
        statement = statement.where(job.c.system_id == wanted.system_id)
    if wanted.reader is not None:
        readable = select(project.c.id).where(visible(wanted.reader, wanted.level))
        statement = statement.where(job.c.project_id.in_(readable))
    return Listing(statement, ListedJobRow, key=job.c.id)
