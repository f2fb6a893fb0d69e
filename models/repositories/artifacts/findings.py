"""What scanners and linters have found in a pipeline, page by page: the worst first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import case, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from models.columns import table_of
from models.repositories.artifacts.elements import document_of, elements
from models.repositories.pipelines.job_rows import job
from models.tables.reports import Report
from models.typed_rows import all_of

report = table_of(Report)


@dataclass(frozen=True, slots=True)
class FindingRow:
    """One entry of a report (`storage.reports` says what it holds), with its kind and its job."""

    job_id: int
    name: str
    kind: str
    entry: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SeverityCount:
    """How many entries of a kind have one severity."""

    kind: str
    severity: str
    number: int


async def page_of_findings(
    connection: AsyncConnection,
    pipeline_id: int,
    kinds: Sequence[str],
    severities: Sequence[str],
    number: int,
    size: int,
    *,
    only: str = "",
) -> Sequence[FindingRow]:
    """Page `number` (from 1) of the entries of these kinds; `severities` go from the worst to the least.

    With `only` those of one severity.
    """
    entries = elements(connection.dialect.name, report.c.entries)
    severity = entries.text("severity")
    order = case({name: place for place, name in enumerate(severities)}, value=severity, else_=len(severities))
    statement = (
        select(report.c.job_id, job.c.name, report.c.kind, entries.document.label("entry"))
        .select_from(report)
        .join(job, job.c.id == report.c.job_id)
        .where(report.c.pipeline_id == pipeline_id, ~job.c.retried, report.c.kind.in_(list(kinds)))
        .order_by(order, report.c.kind, report.c.job_id, entries.place)
    )
    if only:
        statement = statement.where(severity == only)
    result = await connection.execute(statement.limit(size).offset((number - 1) * size))
    return [FindingRow(row.job_id, row.name, row.kind, document_of(row.entry)) for row in result]


async def severities_of(connection: AsyncConnection, pipeline_id: int, kinds: Sequence[str]) -> Sequence[SeverityCount]:
    """How many entries there are of each kind and severity."""
    entries = elements(connection.dialect.name, report.c.entries)
    severity = func.coalesce(entries.text("severity"), "unknown").label("severity")
    statement = (
        select(report.c.kind, severity, func.count().label("number"))
        .select_from(report)
        .join(job, job.c.id == report.c.job_id)
        .where(report.c.pipeline_id == pipeline_id, ~job.c.retried, report.c.kind.in_(list(kinds)))
        .group_by(report.c.kind, severity)
    )
    return all_of(SeverityCount, await connection.execute(statement))


async def faults_of(connection: AsyncConnection, pipeline_id: int, kinds: Sequence[str]) -> Mapping[str, str]:
    """Reports of these kinds that could not be read: why, by the names of their jobs."""
    statement = (
        select(job.c.name, report.c.error)
        .join(job, job.c.id == report.c.job_id)
        .where(
            report.c.pipeline_id == pipeline_id, ~job.c.retried, report.c.kind.in_(list(kinds)), report.c.error != ""
        )
        .order_by(job.c.id)
        .limit(20)
    )
    return {row.name: row.error for row in await connection.execute(statement)}


async def number_of_reports(connection: AsyncConnection, pipeline_id: int, kinds: Sequence[str]) -> int:
    """How many reports of these kinds there are."""
    statement = (
        select(func.count())
        .select_from(report.join(job, job.c.id == report.c.job_id))
        .where(report.c.pipeline_id == pipeline_id, ~job.c.retried, report.c.kind.in_(list(kinds)))
    )
    return int((await connection.execute(statement)).scalar_one())
