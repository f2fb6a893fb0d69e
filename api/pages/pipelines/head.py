"""What stands above every view of a pipeline: what it is, how it is, what can be done, and its views."""

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from sqlalchemy.ext.asyncio import AsyncConnection

from api.pages.pipelines.deeds import AGAIN, NAMED, Deed, canceling, retrying
from api.services import Services
from application.access import ProjectAccess, access_to
from application.bridges.downstream_pipelines import Related, upstream_elsewhere, visible
from domain.moments import span
from domain.pipelines.coverage import average
from domain.pipelines.cross_pod import UpstreamPipeline
from domain.pipelines.operations import CANCELABLE
from domain.pipelines.shown_status import Shown, shown_whole
from domain.pipelines.status import COMPLETE, Status
from models.repositories.accounts import accounts
from models.repositories.artifacts import report_cases, reports
from models.repositories.artifacts.report_cases import TestTotals
from models.repositories.logs import coverage
from models.repositories.pipelines import overview, pipelines
from models.repositories.pipelines.overview import Tally
from models.rows.accounts import UserRow
from models.rows.pipelines import PipelineRow
from storage.reports.parsers import CODE_QUALITY, SCANNERS


class Tab(NamedTuple):
    """A view: its key, its name, and its address below the pipeline's."""

    key: str
    text: str
    path: str


TABS: Final = (
    Tab("graph", "Graph", ""),
    Tab("builds", "Jobs", "/builds"),
    Tab("timeline", "Timeline", "/timeline"),
    Tab("failures", "Failed", "/failures"),
    Tab("test_report", "Tests", "/test_report"),
    Tab("security", "Security", "/security"),
    Tab("codequality_report", "Quality", "/codequality_report"),
    Tab("config", "Config", "/config"),
    Tab("history", "History", "/history"),
)


@dataclass(frozen=True, slots=True)
class Counted:
    """A tab as it is drawn."""

    key: str
    text: str
    href: str
    count: int | None


@dataclass(frozen=True, slots=True)
class Head:
    """Everything that the templates show of a pipeline whatever its view."""

    row: PipelineRow
    user: UserRow
    shown: Shown
    tallies: tuple[Tally, ...]
    tests: TestTotals
    findings: int
    faults_of_code: int
    coverage: str | None
    upstream: Related | None
    upstream_elsewhere: UpstreamPipeline | None
    retry: Deed | None
    cancel: Deed | None
    may_run: bool

    @property
    def title(self) -> str:
        """What its configuration calls it, else the title of its commit."""
        return self.row.name or self.row.commit.get("title", "") or "(no message)"

    @property
    def is_over(self) -> bool:
        """Whether it has ended; optional jobs that nobody has played may still be there."""
        return self.row.status in COMPLETE

    @property
    def queued(self) -> float | None:
        """Seconds until its first job ran."""
        return span(self.row.created_at, self.row.started_at)

    @property
    def jobs(self) -> int:
        """How many jobs it has."""
        return sum(tally.number for tally in self.tallies)

    @property
    def failed(self) -> int:
        """How many of them have failed, also where that is allowed."""
        return sum(tally.number for tally in self.tallies if tally.status == Status.FAILED)

    def tabs(self, address: str) -> list[Counted]:
        """The views, with what each has to show."""
        counts = {
            "builds": self.jobs,
            "failures": self.failed,
            "test_report": self.tests.total,
            "security": self.findings,
            "codequality_report": self.faults_of_code,
        }
        return [Counted(tab.key, tab.text, f"{address}{tab.path}", counts.get(tab.key) or None) for tab in TABS]


async def head_of(services: Services, project: ProjectAccess, pipeline_id: int) -> tuple[ProjectAccess, Head]:
    """The pipeline, as the caller may see it now. Raises `NotFound`."""
    project = await access_to(services, project.caller, project.row.id)
    async with services.database.read() as connection:
        row = await pipelines.get(connection, pipeline_id, project.row.id)
        user = await accounts.get(connection, row.user_id)
        tallies = tuple(await overview.tallies(connection, pipeline_id))
        totals = await reports.totals_of(connection, pipeline_id)
        tests = await report_cases.totals(connection, pipeline_id)
        covered = average(await coverage.of_pipeline(connection, pipeline_id))
        may_run = project.may_run(row)
        again = await _first(connection, pipeline_id, AGAIN) if may_run else ()
        open_jobs = await _first(connection, pipeline_id, tuple(CANCELABLE)) if may_run else ()
    upstream = await visible(services, project.caller, {row.upstream_id} if row.upstream_id is not None else set())
    return project, Head(
        row=row,
        user=user,
        shown=shown_whole(row),
        tallies=tallies,
        tests=tests,
        findings=sum(totals[kind].total for kind in SCANNERS if kind in totals),
        faults_of_code=totals[CODE_QUALITY].total if CODE_QUALITY in totals else 0,
        coverage=covered,
        upstream=None if row.upstream_id is None else upstream.get(row.upstream_id),
        upstream_elsewhere=await upstream_elsewhere(services, project.caller, row),
        retry=retrying(tallies, again) if may_run else None,
        cancel=canceling(tallies, open_jobs) if may_run and row.status not in COMPLETE else None,
        may_run=may_run,
    )


async def _first(connection: AsyncConnection, pipeline_id: int, statuses: tuple[Status, ...]) -> Any:
    return await overview.named(connection, pipeline_id, statuses, NAMED)


def address_of(project: ProjectAccess, pipeline_id: int) -> str:
    """The path of a pipeline's page."""
    return f"/{project.row.full_path}/-/pipelines/{pipeline_id}"
