"""Pages of tests: one with its last runs, and those that are flaky."""

from typing import Final

from fastapi import Request
from fastapi.responses import Response

from api.deps import ServicesDep
from api.pages.frame import responses
from api.pages.frame.access import PREFIX, PageProjectDep
from api.pages.frame.page_count import page_count
from api.pages.frame.responses import address_of_page
from api.pages.projects.home import Number
from api.routes import RouteList
from api.v4.access import Id
from domain.pipelines.flakiness import WORDS, Flaky
from domain.pipelines.unit_tests import KEPT_RUNS, RECENT_DAYS, SUCCESS
from models.repositories.artifacts import unit_test_runs
from models.repositories.paging import slice_of

router = RouteList(prefix=f"{PREFIX}/-")

PER_PAGE: Final = 50


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
        last=page_count(found.total, PER_PAGE),
        words=_words,
        days=RECENT_DAYS,
        here=address_of_page(request),
    )


def _words(flaky: str) -> str:
    """Why a test counts as flaky."""
    return WORDS[Flaky(flaky)]
