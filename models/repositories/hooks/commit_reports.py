"""What other forges are to know of commits: one row for each commit and forge, which always says the newest."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Final

from sqlalchemy import Executable, bindparam, case, delete, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.pipelines.bridges import CHILD
from models.columns import table_of
from models.repositories.due_rows import DueRows
from models.rows.hooks import ChangedPipelineRow, CommitReportRow, LinkedReportRow
from models.tables.hooks import CommitReport, ForgeLink
from models.tables.pipelines import Pipeline
from models.tables.projects import Project
from models.typed_rows import all_of, first_of

link = table_of(ForgeLink)
report = table_of(CommitReport)
pipeline = table_of(Pipeline)
project = table_of(Project)

OPEN: Final = "open"
DONE: Final = "done"
FAILED: Final = "failed"
DUE: Final = DueRows(report, report.c.wanted, OPEN)
"""Reports with something new to tell."""

_LINKS: Final = select(link.c.id).where(link.c.project_id == bindparam("b_project"), link.c.active).order_by(link.c.id)

_COLUMNS: Final = (
    "link_id sha pipeline_id status wanted told shown state attempts due_at error since updated_at".split()
)


@cache
def _raise(dialect: str) -> Executable:
    """The statement that writes what a commit's forge is to know, unless a newer pipeline has written it."""
    add: Any = {"postgresql": postgresql.insert, "sqlite": sqlite.insert}[dialect]
    statement = add(report).values({name: bindparam(f"b_{name}") for name in _COLUMNS})
    fresh = statement.excluded
    raised: Executable = statement.on_conflict_do_update(
        index_elements=["link_id", "sha"],
        set_={
            "pipeline_id": fresh.pipeline_id,
            "status": fresh.status,
            "wanted": report.c.wanted + 1,
            "state": OPEN,
            "attempts": 0,
            "due_at": fresh.due_at,
            "since": case((report.c.state == OPEN, report.c.since), else_=fresh.since),
            "updated_at": fresh.updated_at,
        },
        where=report.c.pipeline_id <= fresh.pipeline_id,
    )
    return raised


async def want(connection: AsyncConnection, row: ChangedPipelineRow, now: datetime) -> None:
    """A pipeline has a new status: each forge of its project is to hear of it, unless the commit has a newer pipeline.

    A child pipeline is part of its parent, which speaks for it.
    """
    if row.source == CHILD:
        return
    links = (await connection.execute(_LINKS, {"b_project": row.project_id})).scalars().all()
    if links:
        rows = [_first(link_id, row, now) for link_id in links]
        await connection.execute(_raise(connection.dialect.name), rows)


def _first(link_id: int, row: ChangedPipelineRow, now: datetime) -> dict[str, Any]:
    values = {
        "link_id": link_id,
        "sha": row.sha,
        "pipeline_id": row.id,
        "status": row.status,
        "wanted": 1,
        "told": 0,
        "shown": "",
        "state": OPEN,
        "attempts": 0,
        "due_at": now,
        "error": "",
        "since": now,
        "updated_at": now,
    }
    return {f"b_{name}": value for name, value in values.items()}


async def find(connection: AsyncConnection, report_id: int) -> LinkedReportRow | None:
    """A report with its link and its pipeline's ref and project path; None when the link is gone or off."""
    statement = (
        select(
            report,
            link.c.kind,
            link.c.api_url,
            link.c.repository,
            link.c.token,
            link.c.context_prefix,
            link.c.verify_tls,
            pipeline.c.ref,
            project.c.full_path,
        )
        .join(link, link.c.id == report.c.link_id)
        .join(pipeline, pipeline.c.id == report.c.pipeline_id)
        .join(project, project.c.id == link.c.project_id)
        .where(report.c.id == report_id, link.c.active)
    )
    return first_of(LinkedReportRow, await connection.execute(statement))


async def told(
    connection: AsyncConnection, row: CommitReportRow, shown: str, status: int | None, now: datetime
) -> bool:
    """The forge has heard what `row` says and shows it; whether something newer is to be told by now."""
    statement = (
        update(report)
        .where(report.c.id == row.id, report.c.told <= row.wanted)
        .values(
            told=row.wanted,
            shown=shown,
            response_status=status,
            error="",
            attempts=0,
            state=case((report.c.wanted == row.wanted, DONE), else_=OPEN),
            updated_at=now,
        )
        .returning(report.c.state)
    )
    return bool((await connection.execute(statement)).scalar() == OPEN)


async def failed(
    connection: AsyncConnection,
    row: CommitReportRow,
    error: str,
    status: int | None,
    now: datetime,
    again: timedelta | None,
) -> bool:
    """An attempt to tell what `row` says has failed; without `again` for good. Whether something newer is to be told.

    What is newer is told all the same: it is an attempt of its own.
    """
    values: dict[str, Any] = {
        "error": error,
        "response_status": status,
        "attempts": row.attempts + 1,
        "updated_at": now,
    }
    values |= {"state": FAILED} if again is None else {"due_at": now + again}
    statement = update(report).where(report.c.id == row.id, report.c.wanted == row.wanted).values(values)
    return not (await connection.execute(statement)).rowcount


async def of_link(connection: AsyncConnection, link_id: int, state: str, limit: int) -> Sequence[CommitReportRow]:
    """The newest reports to a forge that are in a state."""
    statement = select(report).where(report.c.link_id == link_id, report.c.state == state)
    newest = statement.order_by(report.c.updated_at.desc()).limit(limit)
    return all_of(CommitReportRow, await connection.execute(newest))


async def forget(connection: AsyncConnection, link_id: int) -> None:
    """Remove the reports to a forge."""
    await connection.execute(delete(report).where(report.c.link_id == link_id))
