"""Results that others report for commits, and the lists in which they stand beside the jobs of our pipelines."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Select, func, literal, select, union_all, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.errors import Invalid
from domain.projects.commit_status import ENDED, State, why_not
from models.columns import table_of
from models.repositories.paging import Listing
from models.rows.commit_statuses import CommitStatusRow
from models.tables.commit_statuses import LATEST, CommitStatus
from models.tables.pipelines import Job, Pipeline
from models.typed_rows import all_of, first_of

status = table_of(CommitStatus)
job = table_of(Job)
pipeline = table_of(Pipeline)

JOB: Final = "job"
"""What `kind` says of an item that is a job of ours."""
_KEY: Final = ["project_id", "sha", "ref", "name"]
_ADD: Final = {
    "postgresql": postgresql.insert(status).on_conflict_do_nothing(index_elements=_KEY, index_where=LATEST),
    "sqlite": sqlite.insert(status).on_conflict_do_nothing(index_elements=_KEY, index_where=LATEST),
}
_MAX_ATTEMPTS: Final = 5


@dataclass(frozen=True, slots=True)
class Report:
    """What somebody says of a commit; what is None says nothing new."""

    project_id: int
    user_id: int
    sha: str
    ref: str
    name: str
    state: State
    pipeline_id: int | None = None
    target_url: str | None = None
    description: str | None = None
    coverage: float | None = None


async def take(connection: AsyncConnection, report: Report, now: datetime) -> CommitStatusRow:
    """Take a report: one that has not ended is changed, else there is a new one and the old one is history.

    Raises `Invalid` for a state that cannot follow.
    """
    for _ in range(_MAX_ATTEMPTS):
        row = first_of(CommitStatusRow, await connection.execute(_latest(report)))
        if row is None or row.status in ENDED:
            made = await _begin(connection, report, now, row)
        else:
            made = await _go_on(connection, report, now, row)
        if made is not None:
            return made
    raise Invalid(f"{report.name} is reported by many at once; report it again.")


def _latest(report: Report) -> Select[Any]:
    return select(status).where(
        status.c.project_id == report.project_id,
        status.c.sha == report.sha,
        status.c.ref == report.ref,
        status.c.name == report.name,
        ~status.c.retried,
    )


async def _begin(
    connection: AsyncConnection, report: Report, now: datetime, before: CommitStatusRow | None
) -> CommitStatusRow | None:
    """A new row; None when somebody else was faster."""
    if before is not None:
        await connection.execute(update(status).where(status.c.id == before.id).values(retried=True))
    values = {
        "project_id": report.project_id,
        "user_id": report.user_id,
        "pipeline_id": report.pipeline_id,
        "sha": report.sha,
        "ref": report.ref,
        "name": report.name,
        "target_url": report.target_url,
        "description": report.description,
        "coverage": report.coverage,
        "retried": False,
        "created_at": now,
        **_moments(report.state, now, None),
    }
    statement = _ADD[connection.dialect.name].values(**values).returning(*status.c)
    return first_of(CommitStatusRow, await connection.execute(statement))


async def _go_on(
    connection: AsyncConnection, report: Report, now: datetime, row: CommitStatusRow
) -> CommitStatusRow | None:
    """The row with what is new; None when somebody else has changed it meanwhile."""
    refusal = why_not(State(row.status), report.state)
    if refusal:
        raise Invalid(refusal)
    optional = {name: getattr(report, name) for name in ("pipeline_id", "target_url", "description", "coverage")}
    values = {name: value for name, value in optional.items() if value is not None}
    statement = update(status).where(status.c.id == row.id, status.c.status == row.status, ~status.c.retried)
    changed = statement.values(**values, **_moments(report.state, now, row.started_at)).returning(*status.c)
    return first_of(CommitStatusRow, await connection.execute(changed))


def _moments(state: State, now: datetime, started_at: datetime | None) -> dict[str, Any]:
    begun = state is not State.PENDING
    return {
        "status": state.value,
        "started_at": (started_at or now) if begun else None,
        "finished_at": now if state in ENDED else None,
    }


@dataclass(frozen=True, slots=True)
class StatusFilter:
    """Which results of a commit; empty fields do not narrow. `earlier` brings those that were repeated since."""

    ref: str = ""
    stage: str = ""
    name: str = ""
    pipeline_id: int | None = None
    earlier: bool = False
    order_by: str = "id"
    ascending: bool = True


EXTERNAL: Final = "external"
"""The stage that results from elsewhere stand in, as in GitLab."""


@dataclass(frozen=True, slots=True)
class ListedStatus:
    """Which job (`kind` is `JOB`) or result of a commit stands at a place of the list."""

    kind: str
    id: int


def of_commit(project_id: int, sha: str, wanted: StatusFilter) -> Listing[ListedStatus]:
    """Jobs and results of a commit, in the order in which they came."""
    jobs = (
        select(literal(JOB).label("kind"), job.c.id, job.c.created_at, job.c.pipeline_id.label("pipeline_id"))
        .join(pipeline, pipeline.c.id == job.c.pipeline_id)
        .where(pipeline.c.project_id == project_id, pipeline.c.sha == sha)
    )
    results = select(
        literal(EXTERNAL).label("kind"), status.c.id, status.c.created_at, func.coalesce(status.c.pipeline_id, 0)
    ).where(status.c.project_id == project_id, status.c.sha == sha)
    if not wanted.earlier:
        jobs, results = jobs.where(~job.c.retried), results.where(~status.c.retried)
    if wanted.ref:
        jobs, results = jobs.where(pipeline.c.ref == wanted.ref), results.where(status.c.ref == wanted.ref)
    if wanted.name:
        jobs, results = jobs.where(job.c.name == wanted.name), results.where(status.c.name == wanted.name)
    if wanted.stage:
        jobs = jobs.where(job.c.stage_name == wanted.stage)
        results = results.where(literal(wanted.stage) == EXTERNAL)
    if wanted.pipeline_id is not None:
        jobs = jobs.where(job.c.pipeline_id == wanted.pipeline_id)
        results = results.where(status.c.pipeline_id == wanted.pipeline_id)
    both = union_all(jobs, results).subquery()
    columns = [both.c.created_at, both.c.kind, both.c.id]
    if wanted.order_by == "pipeline_id":
        columns.insert(0, both.c.pipeline_id)
    order = (column.asc() if wanted.ascending else column.desc() for column in columns)
    return Listing(select(both.c.kind, both.c.id).order_by(*order), ListedStatus)


async def by_ids(connection: AsyncConnection, ids: Sequence[int]) -> dict[int, CommitStatusRow]:
    """Results by id."""
    if not ids:
        return {}
    rows = all_of(CommitStatusRow, await connection.execute(select(status).where(status.c.id.in_(ids))))
    return {row.id: row for row in rows}
