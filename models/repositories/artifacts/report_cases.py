"""Test cases of a pipeline page by page: the database looks through them, so that no process has to hold all."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Select, case, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.pipelines.unit_tests import BAD
from models.columns import table_of
from models.repositories.artifacts.elements import document_of, elements
from models.repositories.artifacts.reports import TestsRow
from models.repositories.pipelines.job_rows import job
from models.tables.artifacts import TestReport
from models.typed_rows import all_of, first_of

test_report = table_of(TestReport)


@dataclass(frozen=True, slots=True)
class CaseRow:
    """A test case of a report; `name` is that of the job."""

    job_id: int
    name: str
    case: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TestTotals:
    """What all test reports of a pipeline say together."""

    __test__ = False

    reports: int
    total: int
    failed: int
    errored: int
    skipped: int
    seconds: float

    @property
    def failing(self) -> int:
        """Tests that failed or could not be run."""
        return self.failed + self.errored


async def totals(connection: AsyncConnection, pipeline_id: int) -> TestTotals:
    """The sums over the latest attempts of a pipeline's jobs."""
    names = ("total", "failed", "errored", "skipped", "seconds")
    statement = (
        select(
            func.count().label("reports"),
            *(func.coalesce(func.sum(test_report.c[name]), 0).label(name) for name in names),
        )
        .select_from(test_report.join(job, job.c.id == test_report.c.job_id))
        .where(test_report.c.pipeline_id == pipeline_id, ~job.c.retried)
    )
    (found,) = all_of(TestTotals, await connection.execute(statement))
    return found


_TOTALS = [column for column in test_report.c if column.name != "cases"]


async def page_of_reports(connection: AsyncConnection, pipeline_id: int, number: int, size: int) -> Sequence[TestsRow]:
    """Page `number` (from 1) of the reports without their cases: those with failures first."""
    bad = test_report.c.failed + test_report.c.errored
    statement = _reports(pipeline_id).order_by(bad.desc(), job.c.id.desc())
    return all_of(TestsRow, await connection.execute(statement.limit(size).offset((number - 1) * size)))


async def report_of(connection: AsyncConnection, pipeline_id: int, job_id: int) -> TestsRow | None:
    """What the report of one job of a pipeline says in all."""
    return first_of(TestsRow, await connection.execute(_reports(pipeline_id).where(test_report.c.job_id == job_id)))


def _reports(pipeline_id: int) -> Select[Any]:
    return (
        select(*_TOTALS, job.c.name)
        .join(job, job.c.id == test_report.c.job_id)
        .where(test_report.c.pipeline_id == pipeline_id, ~job.c.retried)
    )


async def page_of_cases(
    connection: AsyncConnection, pipeline_id: int, number: int, size: int, *, job_id: int = 0
) -> Sequence[CaseRow]:
    """Page `number` (from 1) of the cases: those that fail first, then those that took longest; of one job if given."""
    statement = _cases(connection.dialect.name, pipeline_id)
    if job_id:
        statement = statement.where(test_report.c.job_id == job_id)
    result = await connection.execute(statement.limit(size).offset((number - 1) * size))
    return [CaseRow(row.job_id, row.name, document_of(row.case)) for row in result]


def _cases(dialect: str, pipeline_id: int) -> Select[Any]:
    """Statement for all cases of a pipeline, in order."""
    cases = elements(dialect, test_report.c.cases)
    return (
        select(test_report.c.job_id, job.c.name, cases.document.label("case"))
        .select_from(test_report)
        .join(job, job.c.id == test_report.c.job_id)
        .where(test_report.c.pipeline_id == pipeline_id, ~job.c.retried)
        .order_by(
            case((cases.text("status").in_(sorted(BAD)), 0), else_=1),
            cases.number("seconds").desc(),
            test_report.c.job_id.desc(),
            cases.place,
        )
    )
