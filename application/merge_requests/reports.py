"""The reports of a merge request's head pipeline, and of the pipeline that it is compared with."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from sqlalchemy.ext.asyncio import AsyncConnection

from application.merge_requests.context import MergeContext
from application.services import Services
from domain.pipelines.coverage import average
from domain.pipelines.report_comparison import (
    CoverageComparison,
    FindingComparison,
    TestComparison,
    compare_coverage,
    compare_findings,
    compare_tests,
    nearest,
)
from git.reading.history import HistoryQuery, commits
from models.repositories.artifacts import reports
from models.repositories.logs import coverage
from models.repositories.merge_requests import merge_requests
from models.rows.pipelines import PipelineRow
from storage.reports.parsers import CODE_QUALITY, COVERAGE, SCANNERS

MAX_BACK: Final = 100
"""So many commits before the branch began are looked at for a pipeline of the target branch."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Everything that the reports of two pipelines say; `base` is None when there is none to compare with.

    `coverage` is that of reports, `job_coverage` what jobs with the keyword `coverage` have told, on average.
    """

    base: PipelineRow | None
    head: PipelineRow
    tests: TestComparison
    coverage: CoverageComparison
    job_coverage: CoverageComparison
    code_quality: FindingComparison
    security: Mapping[str, FindingComparison]


async def compared(services: Services, here: MergeContext, head: PipelineRow) -> Comparison:
    """The reports of the pipeline `head` against those of the target branch where ours began. Raises `Unavailable`."""
    base = await _base(services, here, head)
    async with services.database.read() as connection:
        old, new = await _of(connection, base), await _of(connection, head)
    return Comparison(
        base,
        head,
        compare_tests(old.cases, new.cases),
        compare_coverage(old.coverage, new.coverage),
        CoverageComparison(_percent(old.told), _percent(new.told)),
        compare_findings(old.findings.get(CODE_QUALITY, ()), new.findings.get(CODE_QUALITY, ())),
        {
            kind: compare_findings(old.findings.get(kind, ()), new.findings.get(kind, ()))
            for kind in sorted({*old.findings, *new.findings} - {CODE_QUALITY})
        },
    )


async def _base(services: Services, here: MergeContext, head: PipelineRow) -> PipelineRow | None:
    """The newest finished pipeline of the target branch at the commit that `head` builds upon, or the nearest before.

    For the result of a merge that is what was merged into, else where the branch began.
    """
    start = head.merge_request.get("target_sha") or here.row.base_sha
    if not start:
        return None
    query = HistoryQuery([start], first_parent=True, limit=MAX_BACK)
    shas = [commit.sha for commit in await commits(here.repository, query)]
    async with services.database.read() as connection:
        rows = await merge_requests.finished_pipelines(connection, here.target.id, here.row.target_branch, shas)
    return nearest(shas, rows, lambda row: row.sha)


def _percent(told: Sequence[float]) -> float | None:
    mean = average(told)
    return None if mean is None else float(mean)


@dataclass(frozen=True, slots=True)
class _Reports:
    cases: Sequence[Mapping[str, Any]] = ()
    coverage: Sequence[Mapping[str, Any]] = ()
    told: Sequence[float] = ()
    findings: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)


async def _of(connection: AsyncConnection, pipeline: PipelineRow | None) -> _Reports:
    if pipeline is None:
        return _Reports()
    tests = await reports.tests_of(connection, pipeline.id, cases=True)
    summaries = await reports.summaries_of(connection, pipeline.id)
    entries = await reports.entries_of(connection, pipeline.id, (CODE_QUALITY, *SCANNERS))
    found: dict[str, list[Mapping[str, Any]]] = {}
    for row in entries:
        found.setdefault(row.kind, []).extend(row.entries)
    return _Reports(
        cases=[{**case, "suite": row.name} for row in tests for case in row.cases],
        coverage=[row.summary for row in summaries if row.kind in COVERAGE and not row.error],
        told=await coverage.of_pipeline(connection, pipeline.id),
        findings=found,
    )
