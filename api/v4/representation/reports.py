"""Reports of a pipeline as JSON, by kind: this one is our own."""

from collections import Counter
from collections.abc import Iterable
from itertools import groupby
from typing import Any

from storage.reports.parsers import JUNIT


def reports(rows: Iterable[Any], tests: Iterable[Any]) -> list[dict[str, Any]]:
    """Each kind of report: how many entries, counts by name, and the same for each job; test reports first."""
    of_tests = [_of_tests(row) for row in tests]
    others = [_of_job(row.kind, row, row.summary) for row in rows]
    grouped = groupby([*of_tests, *others], key=lambda item: item[0])
    return [_kind(kind, [shown for _, shown in items]) for kind, items in grouped]


def _kind(kind: str, jobs: list[dict[str, Any]]) -> dict[str, Any]:
    summary: Counter[str] = Counter()
    for job in jobs:
        summary.update(job["summary"])
    return {"kind": kind, "total": sum(job["total"] for job in jobs), "summary": dict(summary), "jobs": jobs}


def _of_tests(row: Any) -> tuple[str, dict[str, Any]]:
    counts = {"failed": row.failed, "errored": row.errored, "skipped": row.skipped}
    return _of_job(JUNIT, row, {**counts, "success": row.total - sum(counts.values())})


def _of_job(kind: str, row: Any, summary: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Values of variables are never shown: only how many there are."""
    shown = {"id": row.job_id, "name": row.name, "total": row.total, "summary": summary, "error": row.error or None}
    return kind, shown
