"""What scanners and linters have found in a pipeline: security and code quality, the worst first."""

from typing import Annotated, Final, NamedTuple

from fastapi import Query, Request
from fastapi.responses import Response

from api.deps import ServicesDep
from api.pages.frame.access import PREFIX, PageProjectDep
from api.pages.pipelines.tab import PER_PAGE, draw_head, head_events, pages, query_of, show
from api.pages.projects.home import Number
from api.routes import RouteList
from api.services import Services
from api.v4.access import Id
from application.access import ProjectAccess
from models.repositories.artifacts import findings
from storage.reports import quality, security
from storage.reports.parsers import CODE_QUALITY, SCANNERS


class Kind(NamedTuple):
    """A view of findings: its reports, their severities from the worst, and what it says where there are none."""

    kinds: tuple[str, ...]
    severities: tuple[str, ...]
    title: str
    advice: str


SECURITY: Final = Kind(
    SCANNERS,
    security.SEVERITIES,
    "No scanner has handed in a report",
    "Give a job artifacts:reports:sast, secret_detection, dependency_scanning or container_scanning.",
)
QUALITY: Final = Kind(
    (CODE_QUALITY,),
    quality.SEVERITIES,
    "No job has handed in a report on the quality of the code",
    "Give a job artifacts:reports:codequality.",
)

Severity = Annotated[str, Query(max_length=20)]

router = RouteList(prefix=f"{PREFIX}/-/pipelines/{{pipeline_id}}")


@router.get("/security")
async def security_page(
    request: Request,
    pipeline_id: Id,
    services: ServicesDep,
    project: PageProjectDep,
    severity: Severity = "",
    page: Number = 1,
) -> Response:
    """What scanners have found."""
    return await _page(request, services, project, pipeline_id, "security", SECURITY, severity, page)


router.get("/security/events")(head_events("security"))


@router.get("/codequality_report")
async def quality_page(
    request: Request,
    pipeline_id: Id,
    services: ServicesDep,
    project: PageProjectDep,
    severity: Severity = "",
    page: Number = 1,
) -> Response:
    """What linters have found."""
    return await _page(request, services, project, pipeline_id, "codequality_report", QUALITY, severity, page)


router.get("/codequality_report/events")(head_events("codequality_report"))


async def _page(
    request: Request,
    services: Services,
    project: ProjectAccess,
    pipeline_id: int,
    tab: str,
    kind: Kind,
    severity: str,
    page: int,
) -> Response:
    live = await draw_head(services, project, pipeline_id, tab)
    only = severity if severity in kind.severities else ""
    async with services.database.read() as connection:
        counts = await findings.severities_of(connection, pipeline_id, kind.kinds)
        rows = await findings.page_of_findings(
            connection, pipeline_id, kind.kinds, kind.severities, page, PER_PAGE, only=only
        )
        faults = await findings.faults_of(connection, pipeline_id, kind.kinds)
        reports = await findings.number_of_reports(connection, pipeline_id, kind.kinds)
    by_severity = {name: sum(one.number for one in counts if one.severity == name) for name in kind.severities}
    total = by_severity[only] if only else sum(one.number for one in counts)
    return await show(
        request,
        project,
        pipeline_id,
        tab,
        live,
        "pipelines/findings.html",
        kind=kind,
        findings=rows,
        by_severity=by_severity,
        faults=faults,
        reports=reports,
        here_tab=tab,
        only=only,
        number=page,
        last=pages(total),
        query=query_of(severity=only),
    )
