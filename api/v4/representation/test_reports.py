"""Test reports as GitLab's JSON: one suite a job."""

from collections.abc import Mapping, Sequence
from typing import Any, Final


def test_report(rows: Sequence[Any], names: Mapping[int, str]) -> dict[str, Any]:
    """The report of a pipeline; `names` are the jobs' names by id."""
    suites = [_suite(row, names[row.job_id]) for row in rows if row.job_id in names]
    totals = {key: sum(suite[key] for suite in suites) for key in _COUNTS}
    return {**totals, "total_time": round(totals["total_time"], 6), "test_suites": suites}


_COUNTS: Final = ("total_time", "total_count", "success_count", "failed_count", "skipped_count", "error_count")


def _suite(row: Any, name: str) -> dict[str, Any]:
    return {
        "name": name,
        "total_time": row.seconds,
        "total_count": row.total,
        "success_count": row.total - row.failed - row.errored - row.skipped,
        "failed_count": row.failed,
        "skipped_count": row.skipped,
        "error_count": row.errored,
        "suite_error": row.error or None,
        "test_cases": [_case(case) for case in row.cases],
    }


def _case(case: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "status": case.get("status"),
        "name": case.get("name"),
        "classname": case.get("classname"),
        "file": case.get("file") or None,
        "execution_time": case.get("seconds", 0.0),
        "system_output": case.get("message") or None,
        "stack_trace": None,
        "recent_failures": None,
    }
