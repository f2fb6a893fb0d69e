"""What the reports of a merge request's pipeline say against those of its target: this path is our own."""

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter

from api.deps import ServicesDep
from api.v4.merge_requests.access import MergeRequestDep, pipeline_project
from api.v4.representation.pipelines import brief
from application.merge_requests.reports import Comparison, compared
from domain.pipelines.report_comparison import MAX_SHOWN, FindingComparison, TestComparison
from domain.pipelines.status import COMPLETE
from models.repositories.merge_requests import merge_requests

router = APIRouter(prefix="/projects/{project}/merge_requests/{iid}")


@router.get("/reports")
async def get_reports(found: MergeRequestDep, services: ServicesDep) -> dict[str, Any]:
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
        **_shown(comparison),
    }


def _shown(comparison: Comparison) -> dict[str, Any]:
    coverage = comparison.coverage
    return {
        "tests": _tests(comparison.tests),
        "coverage": {"base": coverage.base, "head": coverage.head, "change": coverage.change},
        "code_quality": _findings(comparison.code_quality),
        "security": {kind: _findings(found) for kind, found in comparison.security.items()},
    }


def _tests(found: TestComparison) -> dict[str, Any]:
    lists = {"new_failures": found.new, "fixed": found.fixed, "existing_failures": found.existing}
    summary = {"total": found.total, "failed": len(found.new) + len(found.existing), "fixed": len(found.fixed)}
    shown = {name: [_case(case) for case in cases[:MAX_SHOWN]] for name, cases in lists.items()}
    return {"summary": {**summary, "new_failures": len(found.new)}, **shown}


def _case(case: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "status": case.get("status"),
        "name": case.get("name"),
        "classname": case.get("classname"),
        "file": case.get("file") or None,
        "execution_time": case.get("seconds", 0.0),
        "system_output": case.get("message") or None,
        "suite": case.get("suite"),
    }


def _findings(found: FindingComparison) -> dict[str, Any]:
    summary = {"new": len(found.new), "fixed": len(found.fixed), "existing": found.existing}
    return {
        "summary": summary,
        "new": [dict(entry) for entry in found.new[:MAX_SHOWN]],
        "fixed": [dict(entry) for entry in found.fixed[:MAX_SHOWN]],
    }
