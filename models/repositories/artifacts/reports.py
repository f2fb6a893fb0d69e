"""What the reports of jobs say: test reports in a table of their own, all others in one."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal, overload

from sqlalchemy import bindparam, delete, func, insert, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from models.columns import table_of
from models.repositories.pipelines.job_rows import job
from models.tables.artifacts import Artifact, TestReport
from models.tables.reports import Report
from models.tables.unit_tests import UnitTestRun
from models.typed_rows import all_of, first_of

artifact = table_of(Artifact)
report = table_of(Report)
test_report = table_of(TestReport)
test_run = table_of(UnitTestRun)

DOTENV: Final = "dotenv"
"""Kind of the report that holds variables for other jobs."""

_OLDEST: Final = (
    select(func.min(artifact.c.id))
    .where(text("NOT artifact.parsed"), artifact.c.project_id.not_in(bindparam("b_without", expanding=True)))
    .group_by(artifact.c.project_id)
)
_TO_PARSE: Final = (
    select(
        artifact.c.id,
        artifact.c.project_id,
        artifact.c.job_id,
        artifact.c.file_type,
        artifact.c.object_key,
        artifact.c.sha256,
        artifact.c.size,
        artifact.c.created_at,
        job.c.pipeline_id,
    )
    .join(job, job.c.id == artifact.c.job_id)
    .where(artifact.c.id.in_(_OLDEST))
    .order_by(artifact.c.id)
    .limit(bindparam("b_limit"))
)
_TEST_REPORTS: Final = (
    select(test_report, job.c.name)
    .join(job, job.c.id == test_report.c.job_id)
    .where(test_report.c.pipeline_id == bindparam("b_pipeline"), ~job.c.retried)
    .order_by(job.c.id.desc())
)
_NO_CASES: Final = _TEST_REPORTS.with_only_columns(
    *(column for column in test_report.c if column.name != "cases"), job.c.name
)
_ENTRIES: Final = (
    select(report.c.kind, report.c.entries)
    .join(job, job.c.id == report.c.job_id)
    .where(report.c.pipeline_id == bindparam("b_pipeline"), ~job.c.retried)
    .where(report.c.kind.in_(bindparam("b_kinds", expanding=True)))
    .order_by(report.c.kind, job.c.id)
)
_SUMMARIES: Final = (
    select(report.c.job_id, report.c.kind, report.c.total, report.c.summary, report.c.error, job.c.name)
    .join(job, job.c.id == report.c.job_id)
    .where(report.c.pipeline_id == bindparam("b_pipeline"), ~job.c.retried)
    .order_by(report.c.kind, job.c.id)
)


@dataclass(frozen=True, slots=True)
class UnreadReportRow:
    """A report that still has to be read: an artifact, by what its reader has to know."""

    id: int
    project_id: int
    job_id: int
    file_type: str
    object_key: str
    sha256: str
    size: int
    created_at: datetime
    pipeline_id: int


@dataclass(frozen=True, slots=True)
class TestsRow:
    """What a test report says in all; `name` is that of its job."""

    job_id: int
    pipeline_id: int
    total: int
    failed: int
    errored: int
    skipped: int
    seconds: float
    error: str
    name: str


@dataclass(frozen=True, slots=True)
class TestCasesRow(TestsRow):
    """A test report with its cases."""

    cases: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class SummaryRow:
    """What a report of another kind says in all; `name` is that of its job."""

    job_id: int
    kind: str
    total: int
    summary: Mapping[str, Any]
    error: str
    name: str


@dataclass(frozen=True, slots=True)
class KindTotal:
    """How much the reports of one kind have found in all."""

    kind: str
    total: int
    reports: int


@dataclass(frozen=True, slots=True)
class EntriesRow:
    """What a report has found."""

    kind: str
    entries: Sequence[Mapping[str, Any]]


async def to_parse(
    connection: AsyncConnection, limit: int, *, without: Collection[int] = ()
) -> Sequence[UnreadReportRow]:
    """Reports that still have to be read: of each project the oldest, so that none waits for all of another's.

    `without` are projects of which nothing is wanted.
    """
    wanted = {"b_without": list(without), "b_limit": limit}
    return all_of(UnreadReportRow, await connection.execute(_TO_PARSE, wanted))


async def parsed(connection: AsyncConnection, artifact_id: int) -> bool:
    """Note that a report was read; false when somebody else had, or it is gone: then what it says is not kept."""
    statement = update(artifact).where(artifact.c.id == artifact_id, ~artifact.c.parsed).values(parsed=True)
    return bool((await connection.execute(statement)).rowcount)


async def put(connection: AsyncConnection, **values: Any) -> None:
    """Keep what a report says (columns of `Report`), in the place of an earlier one of job and kind."""
    earlier = delete(report).where(report.c.job_id == values["job_id"], report.c.kind == values["kind"])
    await connection.execute(earlier)
    await connection.execute(insert(report).values(**values))


async def put_tests(connection: AsyncConnection, **values: Any) -> None:
    """Keep what a JUnit report says, in the place of an earlier one of the job."""
    await connection.execute(delete(test_report).where(test_report.c.job_id == values["job_id"]))
    await connection.execute(insert(test_report).values(**values))


@overload
async def tests_of(
    connection: AsyncConnection, pipeline_id: int, *, cases: Literal[True]
) -> Sequence[TestCasesRow]: ...
@overload
async def tests_of(connection: AsyncConnection, pipeline_id: int, *, cases: Literal[False]) -> Sequence[TestsRow]: ...
async def tests_of(connection: AsyncConnection, pipeline_id: int, *, cases: bool) -> Sequence[TestsRow]:
    """The test reports of the latest attempts of a pipeline's jobs, with the jobs' names; newest first."""
    wanted = {"b_pipeline": pipeline_id}
    if cases:
        return all_of(TestCasesRow, await connection.execute(_TEST_REPORTS, wanted))
    return all_of(TestsRow, await connection.execute(_NO_CASES, wanted))


async def tests_of_job(connection: AsyncConnection, job_id: int) -> TestCasesRow | None:
    """The test report of one attempt of a job, with its cases; None where it handed in none."""
    statement = select(test_report, job.c.name).join(job, job.c.id == test_report.c.job_id)
    return first_of(TestCasesRow, await connection.execute(statement.where(test_report.c.job_id == job_id)))


async def summary_of_job(connection: AsyncConnection, job_id: int) -> TestsRow | None:
    """The same without its cases."""
    columns = (column for column in test_report.c if column.name != "cases")
    statement = select(*columns, job.c.name).join(job, job.c.id == test_report.c.job_id)
    return first_of(TestsRow, await connection.execute(statement.where(test_report.c.job_id == job_id)))


async def summaries_of(connection: AsyncConnection, pipeline_id: int) -> Sequence[SummaryRow]:
    """All other reports of the latest attempts of a pipeline's jobs, without their entries, with the jobs' names."""
    return all_of(SummaryRow, await connection.execute(_SUMMARIES, {"b_pipeline": pipeline_id}))


async def totals_of(connection: AsyncConnection, pipeline_id: int) -> Mapping[str, KindTotal]:
    """How much each kind of report of the latest attempts of a pipeline's jobs has found."""
    statement = (
        select(report.c.kind, func.sum(report.c.total).label("total"), func.count().label("reports"))
        .join(job, job.c.id == report.c.job_id)
        .where(report.c.pipeline_id == pipeline_id, ~job.c.retried)
        .group_by(report.c.kind)
    )
    return {row.kind: row for row in all_of(KindTotal, await connection.execute(statement))}


async def entries_of(connection: AsyncConnection, pipeline_id: int, kinds: Sequence[str]) -> Sequence[EntriesRow]:
    """What the reports of these kinds have found."""
    wanted = {"b_pipeline": pipeline_id, "b_kinds": list(kinds)}
    return all_of(EntriesRow, await connection.execute(_ENTRIES, wanted))


async def variables_of(connection: AsyncConnection, job_id: int) -> Sequence[Mapping[str, str]]:
    """The variables that a job itself has reported: `key` and `value` of each."""
    statement = select(report.c.entries).where(report.c.job_id == job_id, report.c.kind == DOTENV)
    found: Sequence[Mapping[str, str]] = (await connection.execute(statement)).scalar() or ()
    return found


async def remove(connection: AsyncConnection, job_id: int) -> None:
    """Forget all that the reports of a job said."""
    for table in (report, test_report, test_run):
        await connection.execute(delete(table).where(table.c.job_id == job_id))
