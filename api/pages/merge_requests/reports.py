"""What the reports of a merge request's pipeline say, read once for each state that they are in."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from api.services import Services
from api.v4.merge_requests.access import MergeRequestAccess
from application.merge_requests.reports import Comparison, compared
from application.pipelines.known_failures import KnownFailures, known_failures
from domain.pipelines.report_comparison import CoverageComparison, FindingComparison
from models.repositories.artifacts import reports
from models.repositories.artifacts.unit_test_runs import KnownTest
from models.rows.pipelines import PipelineRow

MAX_SHOWN: Final = 50
"""Entries of one list; the counts tell of all."""
_EVERY: Final = 30
"""Seconds after which the reports of the target branch are looked at again."""
SEVERITIES: Final = ("critical", "high", "medium", "low", "info", "unknown", "blocker", "major", "minor")


@dataclass(frozen=True, slots=True)
class ShownTest:
    """A test that fails or did; `known` is what its history says."""

    case: Mapping[str, Any]
    known: KnownTest | None


@dataclass(frozen=True, slots=True)
class ShownReports:
    """The comparison, with what the history knows of the tests that are shown."""

    comparison: Comparison
    known: KnownFailures

    def tests(self, which: str) -> list[ShownTest]:
        """The first tests that are `new`, `fixed` or `existing`."""
        cases = getattr(self.comparison.tests, which)[:MAX_SHOWN]
        return [ShownTest(case, self.known.of(case["suite"], case)) for case in cases]

    @property
    def coverage(self) -> CoverageComparison | None:
        """What jobs have told, or else coverage reports."""
        both = (self.comparison.job_coverage, self.comparison.coverage)
        return next((one for one in both if one.head is not None), None)

    @property
    def security(self) -> FindingComparison | None:
        """The findings of all scanners together; None without a report."""
        found = self.comparison.security
        if not found:
            return None
        return FindingComparison(
            [{**entry, "scanner": kind} for kind, one in found.items() for entry in one.new],
            [{**entry, "scanner": kind} for kind, one in found.items() for entry in one.fixed],
            sum(one.existing for one in found.values()),
        )


def by_severity(entries: Sequence[Mapping[str, Any]]) -> list[tuple[str, int]]:
    """How many findings have each severity, the worst first."""
    counts = Counter(str(entry.get("severity") or "unknown") for entry in entries)
    return sorted(counts.items(), key=lambda one: SEVERITIES.index(one[0]) if one[0] in SEVERITIES else len(SEVERITIES))


@dataclass(slots=True)
class ReportReader:
    """Reads the reports for one page, and again only when they may have changed: they are large, looks are many."""

    services: Services
    _key: tuple[object, ...] = ()
    _found: ShownReports | None = field(default=None)

    async def read(self, found: MergeRequestAccess, head: PipelineRow) -> ShownReports:
        """The reports of the pipeline `head` against those of the target branch."""
        async with self.services.database.read() as connection:
            tests = await reports.tests_of(connection, head.id, cases=False)
            others = await reports.summaries_of(connection, head.id)
        seen = (*((row.job_id, row.total) for row in tests), *((row.job_id, row.total) for row in others))
        key = (head.id, head.status, seen, found.row.base_sha, int(self.services.clock().timestamp()) // _EVERY)
        if self._found is None or key != self._key:
            comparison = await compared(self.services, found.here, head)
            shown = [case for cases in (comparison.tests.new, comparison.tests.existing) for case in cases[:MAX_SHOWN]]
            told = ((case["suite"], case) for case in shown)
            known = await known_failures(self.services, found.project.row, told)
            self._key, self._found = key, ShownReports(comparison, known)
        return self._found
