"""What the reports of a merge request's pipeline say against those of its target: this path is our own."""

from collections.abc import Mapping
from typing import Any, NotRequired

from typing_extensions import TypedDict

from api.deps import ServicesDep
from api.routes import RouteList
from api.v4.merge_requests.access import MergeRequestAccess, MergeRequestDep, pipeline_project
from api.v4.representation.pipelines import PipelineResponse, brief
from api.v4.representation.test_reports import KnownTestResponse, known_test
from application.merge_requests.reports import Comparison, compared
from application.pipelines.known_failures import KnownFailures, known_failures
from application.services import Services
from domain.pipelines.report_comparison import MAX_SHOWN, CoverageComparison, FindingComparison, TestComparison
from domain.pipelines.status import COMPLETE
from models.repositories.merge_requests import merge_requests

router = RouteList(prefix="/projects/{project}/merge_requests/{iid}")


class CountsOfTests(TypedDict):
    """How many tests there are, and how many fail."""

    total: int
    failed: int
    fixed: int
    new_failures: int


class ComparedTestResponse(KnownTestResponse):
    """A test case; `execution_time` in seconds."""

    status: str | None
    name: str | None
    classname: str | None
    file: str | None
    execution_time: float
    system_output: str | None
    suite: str | None


class ComparedTestsResponse(TypedDict):
    """Test cases that fail or did before."""

    summary: CountsOfTests
    new_failures: list[ComparedTestResponse]
    fixed: list[ComparedTestResponse]
    existing_failures: list[ComparedTestResponse]


class ComparedCoverageResponse(TypedDict):
    """Covered lines in percent; `change` in percentage points."""

    base: float | None
    head: float | None
    change: float | None


class CountsOfFindings(TypedDict):
    """How many findings came, went and stayed."""

    new: int
    fixed: int
    existing: int


class ComparedFindingsResponse(TypedDict):
    """Findings, as their reports have them."""

    summary: CountsOfFindings
    new: list[dict[str, Any]]
    fixed: list[dict[str, Any]]


class _Compared(TypedDict):
    tests: ComparedTestsResponse
    coverage: ComparedCoverageResponse
    job_coverage: ComparedCoverageResponse
    code_quality: ComparedFindingsResponse
    security: dict[str, ComparedFindingsResponse]


class ComparedReportsResponse(TypedDict):
    """What the reports of two pipelines say; without a pipeline only that.

    `coverage` is that of coverage reports, `job_coverage` the average of the jobs that have the keyword `coverage`.
    """

    status: str
    head_pipeline: PipelineResponse | None
    base_pipeline: PipelineResponse | None
    tests: NotRequired[ComparedTestsResponse]
    coverage: NotRequired[ComparedCoverageResponse]
    job_coverage: NotRequired[ComparedCoverageResponse]
    code_quality: NotRequired[ComparedFindingsResponse]
    security: NotRequired[dict[str, ComparedFindingsResponse]]


@router.get("/reports")
async def get_reports(found: MergeRequestDep, services: ServicesDep) -> ComparedReportsResponse:
    """Tests, coverage and findings of the head pipeline, compared with the nearest pipeline of the target branch.

    `status` is `none` without a pipeline, `running` while it has not ended, else `finished`.
    """
    async with services.database.read() as connection:
        head = await merge_requests.head_pipeline(connection, found.row)
    project = None if head is None else await pipeline_project(services, found, head.project_id)
    if head is None or project is None:
        return {"status": "none", "head_pipeline": None, "base_pipeline": None}
    comparison = await compared(services, found.here, head)
    url, path = services.settings.url, found.project.row.full_path
    base = comparison.base
    return {
        "status": "finished" if head.status in COMPLETE else "running",
        "head_pipeline": brief(head, project.full_path, url),
        "base_pipeline": None if base is None else brief(base, path, url),
        **_shown(comparison, await _known(services, found, comparison.tests)),
    }


async def _known(services: Services, found: MergeRequestAccess, tests: TestComparison) -> KnownFailures:
    shown = [case for cases in (tests.new, tests.existing) for case in cases[:MAX_SHOWN]]
    return await known_failures(services, found.project.row, ((case["suite"], case) for case in shown))


def _shown(comparison: Comparison, known: KnownFailures) -> _Compared:
    return {
        "tests": _tests(comparison.tests, known),
        "coverage": _covered(comparison.coverage),
        "job_coverage": _covered(comparison.job_coverage),
        "code_quality": _findings(comparison.code_quality),
        "security": {kind: _findings(found) for kind, found in comparison.security.items()},
    }


def _covered(found: CoverageComparison) -> ComparedCoverageResponse:
    return {"base": found.base, "head": found.head, "change": found.change}


def _tests(found: TestComparison, known: KnownFailures) -> ComparedTestsResponse:
    return {
        "summary": {
            "total": found.total,
            "failed": len(found.new) + len(found.existing),
            "fixed": len(found.fixed),
            "new_failures": len(found.new),
        },
        "new_failures": [_case(case, known) for case in found.new[:MAX_SHOWN]],
        "fixed": [_case(case, known) for case in found.fixed[:MAX_SHOWN]],
        "existing_failures": [_case(case, known) for case in found.existing[:MAX_SHOWN]],
    }


def _case(case: Mapping[str, Any], known: KnownFailures) -> ComparedTestResponse:
    return {
        "status": case.get("status"),
        "name": case.get("name"),
        "classname": case.get("classname"),
        "file": case.get("file") or None,
        "execution_time": case.get("seconds", 0.0),
        "system_output": case.get("message") or None,
        "suite": case.get("suite"),
        **known_test(known.of(case["suite"], case), known.base_branch),
    }


def _findings(found: FindingComparison) -> ComparedFindingsResponse:
    return {
        "summary": {"new": len(found.new), "fixed": len(found.fixed), "existing": found.existing},
        "new": [dict(entry) for entry in found.new[:MAX_SHOWN]],
        "fixed": [dict(entry) for entry in found.fixed[:MAX_SHOWN]],
    }
