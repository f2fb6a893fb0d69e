"""Test cases of a pipeline page by page: the database looks through them, so that no process has to hold all."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import ColumnElement, FromClause, Select, case, cast, column, func, select
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.types import Float

from domain.pipelines.unit_tests import BAD
from models.columns import table_of
from models.repositories.pipelines.job_rows import job
from models.tables.artifacts import TestReport
from models.typed_rows import all_of

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


async def page_of_cases(
    connection: AsyncConnection, pipeline_id: int, number: int, size: int, *, job_id: int = 0
) -> Sequence[CaseRow]:
    """Page `number` (from 1) of the cases: those that fail first, then those that took longest; of one job if given."""
    statement = _cases(connection.dialect.name, pipeline_id)
    if job_id:
        statement = statement.where(test_report.c.job_id == job_id)
    result = await connection.execute(statement.limit(size).offset((number - 1) * size))
    return [CaseRow(row.job_id, row.name, _document(row.case)) for row in result]


def _cases(dialect: str, pipeline_id: int) -> Select[Any]:
    """Statement for all cases of a pipeline in order; the last column keeps their order in the report."""
    cases: FromClause
    document: ColumnElement[Any]
    if dialect == "sqlite":
        cases = func.json_each(test_report.c.cases).table_valued("value", "key", name="one", joins_implicitly=True)
        document = cases.c.value
        status: ColumnElement[Any] = func.json_extract(document, "$.status")
        seconds: ColumnElement[Any] = func.json_extract(document, "$.seconds")
    else:
        cases = (
            func.jsonb_array_elements(test_report.c.cases)
            .table_valued(column("value", JSONB), with_ordinality="key", name="one", joins_implicitly=True)
            .render_derived()
        )
        document = cases.c.value
        status = document["status"].astext
        seconds = cast(document["seconds"].astext, Float)
    return (
        select(test_report.c.job_id, job.c.name, document.label("case"))
        .select_from(test_report)
        .join(job, job.c.id == test_report.c.job_id)
        .add_columns(cases.c.key)
        .where(test_report.c.pipeline_id == pipeline_id, ~job.c.retried)
        .order_by(
            case((status.in_(sorted(BAD)), 0), else_=1),
            func.coalesce(seconds, 0.0).desc(),
            test_report.c.job_id.desc(),
            cases.c.key,
        )
    )


def _document(value: Any) -> Mapping[str, Any]:
    found: Mapping[str, Any] = orjson.loads(value) if isinstance(value, (str, bytes)) else value
    return found
