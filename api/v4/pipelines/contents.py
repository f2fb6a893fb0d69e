"""What a pipeline holds: its jobs and what their reports say."""

from typing import Annotated

from fastapi import Query
from fastapi.responses import JSONResponse

from api.deps import ServicesDep
from api.routes import RouteList
from api.v4.access import PipelineDep
from api.v4.jobs.jobs import ScopeDep, shown_jobs
from api.v4.pagination import PagingDep
from api.v4.representation.bridges import BridgeResponse, bridge
from api.v4.representation.jobs import JobResponse
from api.v4.representation.reports import ReportResponse
from api.v4.representation.reports import reports as shown_reports
from api.v4.representation.test_reports import (
    TestReportResponse,
    TestReportSummaryResponse,
    test_report,
    test_report_summary,
)
from application.bridges.downstream_pipelines import downstream_of
from application.pipelines.known_failures import cases_of, known_failures
from models.repositories.artifacts import reports
from models.repositories.paging import slice_of
from models.repositories.pipelines import jobs

router = RouteList(prefix="/projects/{project}/pipelines/{pipeline_id}")


@router.get("/jobs", response_model=list[JobResponse])
async def list_jobs_of_pipeline(
    found: PipelineDep,
    services: ServicesDep,
    paging: PagingDep,
    scope: ScopeDep,
    include_retried: Annotated[bool, Query()] = False,
) -> JSONResponse:
    """The jobs of a pipeline, newest first; earlier attempts only when asked for."""
    statement = jobs.of_pipeline(found.row.id, statuses=scope, retried=include_retried, bridges=False)
    async with services.database.read() as connection:
        page = await slice_of(connection, statement, paging.number, paging.size)
        items = await shown_jobs(services, connection, page.rows, found.project.row.full_path)
    return paging.response(items, page.total)


@router.get("/bridges", response_model=list[BridgeResponse])
async def list_bridges(found: PipelineDep, services: ServicesDep, paging: PagingDep, scope: ScopeDep) -> JSONResponse:
    """The trigger jobs of a pipeline, newest first, each with its downstream pipeline."""
    statement = jobs.of_pipeline(found.row.id, statuses=scope, bridges=True)
    async with services.database.read() as connection:
        page = await slice_of(connection, statement, paging.number, paging.size)
        items = await shown_jobs(services, connection, page.rows, found.project.row.full_path)
    downstream = await downstream_of(services, found.project.caller, page.rows)
    shown = [
        bridge(item, downstream.get(row.id), services.settings.url) for item, row in zip(items, page.rows, strict=True)
    ]
    return paging.response(shown, page.total)


@router.get("/test_report")
async def get_test_report(found: PipelineDep, services: ServicesDep) -> TestReportResponse:
    """What the JUnit reports of the latest attempts say, and of tests that fail how often they did so lately."""
    async with services.database.read() as connection:
        rows = await reports.tests_of(connection, found.row.id, cases=True)
    known = await known_failures(services, found.project.row, cases_of(rows))
    return test_report(rows, known, f"{services.settings.url}/{found.project.row.full_path}")


@router.get("/test_report_summary")
async def get_test_report_summary(found: PipelineDep, services: ServicesDep) -> TestReportSummaryResponse:
    """The same in figures, without the test cases."""
    async with services.database.read() as connection:
        return test_report_summary(await reports.tests_of(connection, found.row.id, cases=False))


@router.get("/reports")
async def get_reports(found: PipelineDep, services: ServicesDep) -> list[ReportResponse]:
    """Every kind of report of the latest attempts, with its counts."""
    async with services.database.read() as connection:
        tests = await reports.tests_of(connection, found.row.id, cases=False)
        others = await reports.summaries_of(connection, found.row.id)
    return shown_reports(others, tests)
