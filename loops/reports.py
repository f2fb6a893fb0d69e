"""The loop that reads the reports of jobs into their tables.

An upload is acknowledged before its report is read; the artifact says so until that is done, so a killed process
leaves nothing unread. A report that cannot be read is kept with its fault and harms nobody. Any number of these loops
may run: two may read the same report, one of them keeps what it says.
"""

import asyncio
import hashlib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final

import structlog

from domain.errors import Invalid, NotFound, TooLarge, Unavailable
from loops.rounds import when_told
from loops.unit_tests import keep
from models.notifications import REPORTS, Notifications, pipeline_topic
from models.repositories.artifacts import reports, unit_tests
from models.repositories.artifacts.reports import UnreadReportRow
from models.session import Database
from storage.objects import ObjectStore
from storage.reports.content import UNPACKED_LIMIT
from storage.reports.junit import JUnitReport, parse_junit
from storage.reports.parsers import JUNIT, PARSERS

BATCH = 50
IDLE = 10.0
"""Of a pipeline: so many are told that a report is there."""
_THREAD: Final = ThreadPoolExecutor(1, thread_name_prefix="reports")
"""Of its own: the largest report takes seconds."""

log = structlog.get_logger()


class ReportLoop:
    """Reads reports until it is cancelled."""

    def __init__(self, database: Database, store: ObjectStore, notifications: Notifications) -> None:
        """Read what lies in this store."""
        self._database = database
        self._store = store
        self._notifications = notifications

    async def run(self) -> None:
        """Read for ever; what the store does not give now is tried again at the next look."""
        await when_told(self._notifications, REPORTS, self._parse, IDLE, "reports could not be read; it is tried again")

    async def _parse(self) -> float:
        await self.parse()
        return IDLE

    async def parse(self) -> int:
        """Read every report that waits, of each project in turn; give back how many are in their tables now."""
        count, away = 0, set[int]()
        while True:
            async with self._database.read() as connection:
                rows = await reports.to_parse(connection, BATCH, without=away)
            if not rows:
                return count
            for row in rows:
                try:
                    count += await self._parse_one(row)
                except Unavailable as error:
                    log.warning("a report waits for the store", job=row.job_id, kind=row.file_type, error=str(error))
                    away.add(row.project_id)

    async def _parse_one(self, row: UnreadReportRow) -> bool:
        values = await self._read(row)
        if values.get("error"):
            log.warning("a report cannot be read", job=row.job_id, kind=row.file_type, error=values["error"])
        if values.get("cases"):
            await keep(self._database, row, values["cases"])
        async with self._database.write() as connection:
            if not await reports.parsed(connection, row.id):
                await unit_tests.forget_unread(connection, row.job_id)
                return False
            if row.file_type == JUNIT:
                await reports.put_tests(connection, job_id=row.job_id, pipeline_id=row.pipeline_id, **values)
            else:
                known = {"job_id": row.job_id, "pipeline_id": row.pipeline_id, "kind": row.file_type}
                await reports.put(connection, **known, **values)
        await self._notifications.show(pipeline_topic(row.pipeline_id))
        return True

    async def _read(self, row: UnreadReportRow) -> dict[str, Any]:
        """What a report says, as columns of its table. Raises `Unavailable` while the store is away."""
        nothing: Mapping[str, Any] = _NO_TESTS if row.file_type == JUNIT else {}
        if row.size > UNPACKED_LIMIT:
            return {**nothing, "error": f"The report has more than {UNPACKED_LIMIT} bytes; split it."}
        try:
            content = b"".join([part async for part in self._store.read(row.object_key)])
            parsing = partial(_parsed, row.file_type, content, row.sha256)
            return await asyncio.get_running_loop().run_in_executor(_THREAD, parsing)
        except NotFound:
            return {**nothing, "error": "The report is not in the store any more; run the job again."}
        except (Invalid, TooLarge) as error:
            return {**nothing, "error": str(error)}
        except Unavailable:
            raise
        except Exception:
            log.exception("the reader of a report is broken", job=row.job_id, kind=row.file_type)
            return {**nothing, "error": "The report cannot be read: a fault of Perdure, whose log says more."}


_NO_TESTS: Final[Mapping[str, Any]] = {
    "total": 0,
    "failed": 0,
    "errored": 0,
    "skipped": 0,
    "seconds": 0.0,
    "cases": (),
}


def _parsed(kind: str, content: bytes, sha256: str) -> dict[str, Any]:
    if hashlib.sha256(content).hexdigest() != sha256:
        raise Invalid("The report is damaged in the store: its SHA-256 is not the one it was stored with.")
    if kind == JUNIT:
        return _test_columns(parse_junit(content))
    found = PARSERS[kind](content)
    return {"total": len(found.entries), "summary": found.summary, "entries": found.entries}


def _test_columns(report: JUnitReport) -> dict[str, Any]:
    return {
        "total": report.total,
        "failed": report.failed,
        "errored": report.errored,
        "skipped": report.skipped,
        "seconds": report.seconds,
        "cases": list(report.cases),
    }
