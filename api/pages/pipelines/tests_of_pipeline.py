"""The tests of a pipeline's reports: what fails first, then what took longest, page by page."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final

from fastapi import Query, Request
from fastapi.responses import Response

from api.deps import ServicesDep
from api.pages.frame.access import PREFIX, PageProjectDep
from api.pages.jobs.file_kinds import PICTURES, ending
from api.pages.pipelines.head import head_of
from api.pages.pipelines.tab import PER_PAGE, draw_head, head_events, pages, query_of, show
from api.pages.projects.home import Number
from api.routes import RouteList
from api.v4.access import Id
from api.v4.representation.test_reports import attachment_path
from application.pipelines.known_failures import known_failures
from domain.pipelines.flakiness import WORDS, Flaky
from domain.pipelines.unit_tests import RECENT_DAYS
from models.repositories.artifacts import report_cases
from models.repositories.artifacts.unit_test_runs import KnownTest

SUITES: Final = 50
"""Reports on a page."""

JobId = Annotated[int, Query(ge=0, le=2**53)]

router = RouteList(prefix=f"{PREFIX}/-/pipelines/{{pipeline_id}}/test_report")


@dataclass(frozen=True, slots=True)
class ShownCase:
    """A test of a report; `known` is what its history says if it fails."""

    job_id: int
    job_name: str
    case: Mapping[str, Any]
    known: KnownTest | None

    def attachment(self, view: str = "file") -> str:
        """Where the file that the report names is shown, behind the address of the project; empty without one."""
        name = self.case.get("attachment", "")
        return attachment_path(self.job_id, name, view) if name else ""

    @property
    def is_picture(self) -> bool:
        """Whether that file can be shown as a picture, by its name."""
        return ending(self.case.get("attachment", "")) in PICTURES


@router.get("")
async def report_page(
    request: Request,
    pipeline_id: Id,
    project: PageProjectDep,
    services: ServicesDep,
    job: JobId = 0,
    page: Number = 1,
    suites: Number = 1,
) -> Response:
    """The tests of a pipeline, of one job if given; `suites` is the page of its reports."""
    project, head = await head_of(services, project, pipeline_id)
    async with services.database.read() as connection:
        reports = await report_cases.page_of_reports(connection, pipeline_id, suites, SUITES)
        rows = await report_cases.page_of_cases(connection, pipeline_id, page, PER_PAGE, job_id=job)
        chosen = await report_cases.report_of(connection, pipeline_id, job) if job else None
    known = await known_failures(services, project.row, ((row.name, row.case) for row in rows))
    cases = [ShownCase(row.job_id, row.name, row.case, known.of(row.name, row.case)) for row in rows]
    total = (chosen.total if chosen else 0) if job else head.tests.total
    failing = (chosen.failed + chosen.errored if chosen else 0) if job else head.tests.failing
    before = (page - 1) * PER_PAGE
    bad = max(0, min(len(cases), failing - before))
    return await show(
        request,
        project,
        pipeline_id,
        "test_report",
        await draw_head(services, project, pipeline_id, "test_report"),
        "pipelines/test_report.html",
        reports=reports,
        tests=head.tests,
        suites=suites,
        last_suites=pages(head.tests.reports, SUITES),
        failing=cases[:bad],
        others=cases[bad:],
        failing_in_all=failing,
        others_in_all=total - failing,
        number=page,
        last=pages(total),
        query=query_of(job=job),
        job=job,
        chosen=chosen,
        words=_words,
        days=RECENT_DAYS,
        branch=project.row.default_branch,
    )


router.get("/events")(head_events("test_report"))


def _words(flaky: str) -> str:
    """Why a test counts as flaky."""
    return WORDS[Flaky(flaky)]
