"""Pages of tests: those of a pipeline's reports, one with its last runs, and those that are flaky."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fastapi import Request
from fastapi.responses import Response

from api.deps import ServicesDep
from api.pages.frame import responses
from api.pages.frame.access import PREFIX, PageProjectDep
from api.pages.frame.responses import address_of_page
from api.pages.projects.home import Number
from api.routes import RouteList
from api.v4.access import Id
from application.pipelines.known_failures import cases_of, known_failures
from domain.pipelines.flakiness import WORDS, Flaky
from domain.pipelines.unit_tests import BAD, KEPT_RUNS, RECENT_DAYS, SUCCESS
from models.repositories.artifacts import reports, unit_test_runs
from models.repositories.artifacts.reports import TestCasesRow
from models.repositories.artifacts.unit_test_runs import KnownTest
from models.repositories.paging import slice_of
from models.repositories.pipelines import pipelines

router = RouteList(prefix=f"{PREFIX}/-")

MAX_FAILING: Final = 500
MAX_OTHERS: Final = 500
"""Tests that the page of a pipeline shows."""
PER_PAGE: Final = 50


@dataclass(frozen=True, slots=True)
class ShownCase:
    """A test of a report; `known` is what its history says if it fails."""

    job_id: int
    job_name: str
    case: Mapping[str, Any]
    known: KnownTest | None


@router.get("/pipelines/{pipeline_id}/test_report")
async def test_report(request: Request, pipeline_id: Id, project: PageProjectDep, services: ServicesDep) -> Response:
    """The tests of a pipeline: those that fail first, then those that take longest."""
    async with services.database.read() as connection:
        row = await pipelines.get(connection, pipeline_id, project.row.id)
        rows = await reports.tests_of(connection, pipeline_id, cases=True)
    known = await known_failures(services, project.row, cases_of(rows))
    failing, others = _sorted(rows)
    return responses.page(
        "pipelines/test_report.html",
        project.caller,
        project=project.row,
        pipeline=row,
        suites=rows,
        failing=[
            ShownCase(suite.job_id, suite.name, case, known.of(suite.name, case))
            for suite, case in failing[:MAX_FAILING]
        ],
        others=[ShownCase(suite.job_id, suite.name, case, None) for suite, case in others[:MAX_OTHERS]],
        failing_in_all=len(failing),
        others_in_all=len(others),
        words=_words,
        days=RECENT_DAYS,
        branch=project.row.default_branch,
        here=address_of_page(request),
    )


def _sorted(rows: Sequence[TestCasesRow]) -> tuple[list[tuple[TestCasesRow, Any]], list[tuple[TestCasesRow, Any]]]:
    failing: list[tuple[TestCasesRow, Any]] = []
    others: list[tuple[TestCasesRow, Any]] = []
    for suite in rows:
        for case in suite.cases:
            (failing if case.get("status") in BAD else others).append((suite, case))
    others.sort(key=lambda pair: -pair[1].get("seconds", 0.0))
    return failing, others


@router.get("/unit_tests/{unit_test_id}")
async def unit_test(request: Request, unit_test_id: Id, project: PageProjectDep, services: ServicesDep) -> Response:
    """A test with its last runs."""
    async with services.database.read() as connection:
        row = await unit_test_runs.get(connection, project.row.id, unit_test_id, services.clock())
        runs = await unit_test_runs.last_runs(connection, row.id)
    return responses.page(
        "projects/unit_test.html",
        project.caller,
        project=project.row,
        test=row,
        runs=runs,
        failed=sum(run.status != SUCCESS for run in runs),
        words=_words,
        kept=KEPT_RUNS,
        days=RECENT_DAYS,
        here=address_of_page(request),
    )


@router.get("/flaky_tests")
async def flaky_tests(request: Request, project: PageProjectDep, services: ServicesDep, page: Number = 1) -> Response:
    """The flaky tests of a project, first what failed last."""
    async with services.database.read() as connection:
        found = await slice_of(connection, unit_test_runs.flaky(project.row.id, services.clock()), page, PER_PAGE)
    return responses.page(
        "projects/flaky_tests.html",
        project.caller,
        project=project.row,
        tests=found.rows,
        total=found.total,
        number=page,
        last=max(1, -(-found.total // PER_PAGE)),
        words=_words,
        days=RECENT_DAYS,
        here=address_of_page(request),
    )


def _words(flaky: str) -> str:
    """Why a test counts as flaky."""
    return WORDS[Flaky(flaky)]
