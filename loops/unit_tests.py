"""Keeps what a test report says of each test, for their history: in small transactions, so that nothing waits for it.

All are done before the report counts as read: whoever is killed in between does them again, which changes nothing.
"""

import asyncio
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from typing import Any, Final, TypeVar

import structlog

from domain.pipelines.flakiness import RECENT, flakiness
from domain.pipelines.unit_tests import UnitResult, has_many_failures, results_of
from models.repositories.artifacts import unit_test_runs, unit_tests
from models.repositories.artifacts.reports import UnreadReportRow
from models.repositories.artifacts.unit_tests import NotedTest, Report
from models.session import Database

BATCH: Final = 500
"""Results of one transaction; it takes some milliseconds."""
READ_WHOLE: Final = 20
"""Tests of which all runs are read at once."""
MAX_JUDGED: Final = 1000
"""Of one report: where more tests have failed lately, their marks stay as they are."""

Item = TypeVar("Item")
log = structlog.get_logger()


async def keep(database: Database, row: UnreadReportRow, cases: Sequence[Any]) -> None:
    """Keep what a report says of its tests (`storage.reports.junit.JUnitCase`), and judge those that failed lately."""
    async with database.read() as connection:
        origin = await unit_tests.origin_of(connection, row.job_id)
    if origin is None:
        return
    results = await asyncio.to_thread(results_of, origin.name, cases)
    many = has_many_failures(results)
    of = Report(row.project_id, row.job_id, row.created_at, origin.on_default, many)
    unstable: list[NotedTest] = []
    for batch in _batches(results, BATCH):
        noted = await _put(database, of, batch)
        unstable += [test for test in noted if test.flaky or test.failed_at]
    if len(unstable) > MAX_JUDGED:
        log.info("too many tests failed lately to look for flaky ones", job=row.job_id, tests=len(unstable))
        return
    for some in _batches(unstable, READ_WHOLE):
        await _judge(database, some, row.created_at)


async def _put(database: Database, of: Report, results: Sequence[UnitResult]) -> Sequence[NotedTest]:
    async with database.write() as connection:
        noted = await unit_tests.put(connection, of, results, RECENT)
    long = [test.id for test in noted if test.is_to_be_trimmed]
    for some in _batches(long, READ_WHOLE):
        async with database.write() as connection:
            await unit_tests.trim(connection, some)
        await asyncio.sleep(0)  # SQLite runs in this thread
    await asyncio.sleep(0)
    return noted


async def _judge(database: Database, tests: Collection[NotedTest], now: datetime) -> None:
    """Mark those of some tests that are flaky, and no others."""
    async with database.read() as connection:
        runs = await unit_test_runs.judged(connection, [test.id for test in tests])
    found = {test.id: flakiness(runs[test.id], now) or "" for test in tests}
    changed = {test.id: found[test.id] for test in tests if found[test.id] != test.flaky}
    if changed:
        async with database.write() as connection:
            await unit_tests.mark(connection, changed)
    await asyncio.sleep(0)


def _batches(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
