"""Test reports as GitLab's JSON: one suite a job."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

_COUNTS: Final = ("total_time", "total_count", "success_count", "failed_count", "skipped_count", "error_count")


def test_report(rows: Sequence[Any]) -> dict[str, Any]:
    """The report of a pipeline, of rows with `cases`."""
    suites = [{**_suite(row), "test_cases": [_case(case) for case in row.cases]} for row in rows]
    return {**_totals(suites), "test_suites": suites}


def test_report_summary(rows: Sequence[Any]) -> dict[str, Any]:
    """The report of a pipeline in figures."""
    suites = [{**_suite(row), "build_ids": [row.job_id]} for row in rows]
    totals = {name.removeprefix("total_").removesuffix("_count"): value for name, value in _totals(suites).items()}
    return {"total": {**totals, "suite_error": None}, "test_suites": suites}


def _totals(suites: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    totals = {key: sum(suite[key] for suite in suites) for key in _COUNTS}
    return {**totals, "total_time": round(totals["total_time"], 6)}


def _suite(row: Any) -> dict[str, Any]:
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
