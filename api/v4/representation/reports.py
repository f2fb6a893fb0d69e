"""Reports of a pipeline as JSON, by kind: this one is our own."""

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any, Protocol

from typing_extensions import TypedDict

from api.v4.representation.test_reports import CountedTests, JobReport
from storage.reports.parsers import JUNIT


class JobReportResponse(TypedDict):
    """What the report of one job says: counts by name, and why it could not be read."""

    id: int
    name: str
    total: int
    summary: dict[str, int]
    error: str | None


class ReportResponse(TypedDict):
    """One kind of report: how many entries, counts by name, and the same for each job."""

    kind: str
    total: int
    summary: dict[str, int]
    jobs: list[JobReportResponse]


class SummarizedReport(JobReport, Protocol):
    """A report of any other kind than tests."""

    @property
    def kind(self) -> str:
        """Its kind."""

    @property
    def summary(self) -> Mapping[str, Any]:
        """Counts by name."""


def reports(rows: Iterable[SummarizedReport], tests: Iterable[CountedTests]) -> list[ReportResponse]:
    """Each kind of report, with that of each job; test reports first."""
    of_tests = [(JUNIT, _of_tests(row)) for row in tests]
    others = [(row.kind, _of_job(row, row.summary)) for row in rows]
    grouped = groupby([*of_tests, *others], key=lambda item: item[0])
    return [_kind(kind, [shown for _, shown in items]) for kind, items in grouped]


def _kind(kind: str, jobs: list[JobReportResponse]) -> ReportResponse:
    summary: Counter[str] = Counter()
    for job in jobs:
        summary.update(job["summary"])
    return {"kind": kind, "total": sum(job["total"] for job in jobs), "summary": dict(summary), "jobs": jobs}


def _of_tests(row: CountedTests) -> JobReportResponse:
    counts = {"failed": row.failed, "errored": row.errored, "skipped": row.skipped}
    return _of_job(row, {**counts, "success": row.total - sum(counts.values())})


def _of_job(row: JobReport, summary: Mapping[str, Any]) -> JobReportResponse:
    """Values of variables are never shown: only how many there are."""
    return {
        "id": row.job_id,
        "name": row.name,
        "total": row.total,
        "summary": dict(summary),
        "error": row.error or None,
    }
