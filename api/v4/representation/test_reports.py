"""Test reports as GitLab's JSON: one suite a job."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol
from urllib.parse import quote

from typing_extensions import TypedDict

from application.pipelines.known_failures import KnownFailures
from models.repositories.artifacts.unit_test_runs import KnownTest


class _SuitePart(TypedDict):
    name: str
    total_time: float
    total_count: int
    success_count: int
    failed_count: int
    skipped_count: int
    error_count: int
    suite_error: str | None


class RecentFailuresResponse(TypedDict):
    """How many jobs of the default branch failed by a test in the last 14 days."""

    count: int
    base_branch: str


class KnownTestResponse(TypedDict):
    """What is known of a test that fails, by its history; `unit_test_id` and `flaky` are our own.

    `flaky` says why it counts as flaky: `same_commit` or `alternates`.
    """

    recent_failures: RecentFailuresResponse | None
    unit_test_id: int | None
    flaky: str | None


class _Attachment(TypedDict, total=False):
    attachment_url: str


class TestCaseResponse(KnownTestResponse, _Attachment):
    """A test; `attachment_url` is that of the file in its job's artifacts which the report names, if any."""

    status: str | None
    name: str | None
    classname: str | None
    file: str | None
    execution_time: float
    system_output: str | None
    stack_trace: str | None


class TestSuiteResponse(_SuitePart):
    """What the report of one job says."""

    test_cases: list[TestCaseResponse]


class TestSuiteSummaryResponse(_SuitePart):
    """The same in figures."""

    build_ids: list[int]


class _TotalsPart(TypedDict):
    total_time: int | float  # 0, not 0.0, where there is no report
    total_count: int
    success_count: int
    failed_count: int
    skipped_count: int
    error_count: int


class TestReportResponse(_TotalsPart):
    """The test report of a pipeline."""

    test_suites: list[TestSuiteResponse]


class TestTotalsResponse(TypedDict):
    """Figures of all test reports of a pipeline."""

    time: int | float
    count: int
    success: int
    failed: int
    skipped: int
    error: int
    suite_error: str | None


class TestReportSummaryResponse(TypedDict):
    """The test report of a pipeline in figures."""

    total: TestTotalsResponse
    test_suites: list[TestSuiteSummaryResponse]


class JobReport(Protocol):
    """A report of a job."""

    @property
    def job_id(self) -> int:
        """Of the job."""

    @property
    def name(self) -> str:
        """What the job is called."""

    @property
    def total(self) -> int:
        """How many entries it has."""

    @property
    def error(self) -> str:
        """Why it could not be read; empty if it was."""


class CountedTests(JobReport, Protocol):
    """The test report of a job in figures."""

    @property
    def failed(self) -> int:
        """How many of them failed."""

    @property
    def errored(self) -> int:
        """How many of them broke."""

    @property
    def skipped(self) -> int:
        """How many of them were not run."""

    @property
    def seconds(self) -> float:
        """How long they took."""


class Tests(CountedTests, Protocol):
    """The test report of a job."""

    @property
    def cases(self) -> Sequence[Mapping[str, Any]]:
        """Each test."""


def test_report(rows: Sequence[Tests], known: KnownFailures, project_url: str) -> TestReportResponse:
    """The report of a pipeline, with what is known of those of its tests that fail."""
    suites: list[TestSuiteResponse] = [
        {**_suite(row), "test_cases": [_case(row, case, known, project_url) for case in row.cases]} for row in rows
    ]
    return {**_totals(suites), "test_suites": suites}


def test_report_summary(rows: Sequence[CountedTests]) -> TestReportSummaryResponse:
    """The report of a pipeline in figures."""
    suites: list[TestSuiteSummaryResponse] = [{**_suite(row), "build_ids": [row.job_id]} for row in rows]
    totals = _totals(suites)
    return {
        "total": {
            "time": totals["total_time"],
            "count": totals["total_count"],
            "success": totals["success_count"],
            "failed": totals["failed_count"],
            "skipped": totals["skipped_count"],
            "error": totals["error_count"],
            "suite_error": None,
        },
        "test_suites": suites,
    }


def _totals(suites: Sequence[_SuitePart]) -> _TotalsPart:
    return {
        "total_time": round(sum(suite["total_time"] for suite in suites), 6),
        "total_count": sum(suite["total_count"] for suite in suites),
        "success_count": sum(suite["success_count"] for suite in suites),
        "failed_count": sum(suite["failed_count"] for suite in suites),
        "skipped_count": sum(suite["skipped_count"] for suite in suites),
        "error_count": sum(suite["error_count"] for suite in suites),
    }


def _suite(row: CountedTests) -> _SuitePart:
    return {
        "name": row.name,
        "total_time": row.seconds,
        "total_count": row.total,
        "success_count": row.total - row.failed - row.errored - row.skipped,
        "failed_count": row.failed,
        "skipped_count": row.skipped,
        "error_count": row.errored,
        "suite_error": row.error or None,
    }


def _case(row: JobReport, case: Mapping[str, Any], known: KnownFailures, project_url: str) -> TestCaseResponse:
    attachment = case.get("attachment")
    place: _Attachment = {"attachment_url": project_url + attachment_path(row.job_id, attachment)} if attachment else {}
    return {
        **place,
        "status": case.get("status"),
        "name": case.get("name"),
        "classname": case.get("classname"),
        "file": case.get("file") or None,
        "execution_time": case.get("seconds", 0.0),
        "system_output": case.get("message") or None,
        "stack_trace": None,
        **known_test(known.of(row.name, case), known.base_branch),
    }


def attachment_path(job_id: int, name: str, view: str = "file") -> str:
    """Where the file that a test case names is shown, behind the address of its project; `raw` has its bytes."""
    return f"/-/jobs/{job_id}/artifacts/{view}/{quote(name)}"


def known_test(found: KnownTest | None, base_branch: str) -> KnownTestResponse:
    """What is known of a test; nothing of one that does not fail."""
    failures = 0 if found is None else found.recent_failures
    return {
        "recent_failures": {"count": failures, "base_branch": base_branch} if failures else None,
        "unit_test_id": None if found is None else found.id,
        "flaky": (found.flaky or None) if found is not None else None,
    }
