"""Figures of a project over time: jobs by name or by day, and the coverage of its default branch. Our own paths."""

from datetime import timedelta
from typing import Annotated

from fastapi import Query
from typing_extensions import TypedDict

from api.deps import ServicesDep
from api.routes import RouteList
from api.v4.access import ProjectDep
from domain.moments import moment
from domain.pipelines.figures import DAYS, CoveredDay, Figures, by_day
from models.repositories.projects import figures

router = RouteList(prefix="/projects/{project}/figures")

_MAX_NAME = 20_000
"""Characters of a job's name."""


class FiguresResponse(TypedDict):
    """How many jobs succeeded or failed, the share of those that succeeded in percent, and how long they took.

    Half of them took at most `p50` seconds, 95 % at most `p95`. Every attempt counts.
    """

    count: int
    success_rate: float
    p50: float
    p95: float


class JobFiguresResponse(FiguresResponse):
    """The figures of the jobs of one name."""

    name: str


class DayFiguresResponse(FiguresResponse):
    """The figures of one day, in UTC."""

    day: str


class JobsFiguresResponse(TypedDict):
    """Figures since a moment. It is 90 days ago if they are `complete`; else only the newest jobs count."""

    since: str
    complete: bool
    jobs: list[JobFiguresResponse]


class DaysFiguresResponse(TypedDict):
    """The same of the jobs of one name by day; days without such a job are left out."""

    since: str
    complete: bool
    name: str
    days: list[DayFiguresResponse]


class CoveredDayResponse(TypedDict):
    """The coverage of the last successful pipeline of a day (in UTC), in percent."""

    day: str
    coverage: float
    pipeline_id: int
    sha: str


class CoverageResponse(TypedDict):
    """The coverage of the default branch by day; days without any are left out."""

    ref: str
    days: list[CoveredDayResponse]


@router.get("/jobs")
async def job_figures(project: ProjectDep, services: ServicesDep) -> JobsFiguresResponse:
    """Success rate and durations of a project's jobs by their names in the last 90 days, those first that run most."""
    since = services.clock() - timedelta(days=DAYS)
    async with services.database.read() as connection:
        reach = await figures.reach(connection, project.row.id, since)
        rows = await figures.by_name(connection, project.row.id, since)
    jobs: list[JobFiguresResponse] = [{"name": row.key, **_shown(row)} for row in rows]
    return {"since": moment(reach.since), "complete": reach.whole, "jobs": jobs}


@router.get("/days")
async def day_figures(
    project: ProjectDep, services: ServicesDep, name: Annotated[str, Query(max_length=_MAX_NAME)]
) -> DaysFiguresResponse:
    """The same of the jobs of one name by the day on which they ended."""
    since = services.clock() - timedelta(days=DAYS)
    async with services.database.read() as connection:
        reach = await figures.reach(connection, project.row.id, since)
        rows = await figures.by_day(connection, project.row.id, name, since)
    days: list[DayFiguresResponse] = [{"day": row.key, **_shown(row)} for row in rows]
    return {"since": moment(reach.since), "complete": reach.whole, "name": name, "days": days}


@router.get("/coverage")
async def coverage_figures(project: ProjectDep, services: ServicesDep) -> CoverageResponse:
    """The coverage of the default branch by day, in the last 90 days."""
    ref = project.row.default_branch
    async with services.database.read() as connection:
        since = services.clock() - timedelta(days=DAYS)
        rows = await figures.covered(connection, project.row.id, ref, since)
    return {"ref": ref, "days": [_covered(row) for row in by_day(rows)]}


def _shown(row: Figures) -> FiguresResponse:
    return {
        "count": row.number,
        "success_rate": row.success_rate,
        "p50": round(row.p50, 3),
        "p95": round(row.p95, 3),
    }


def _covered(row: CoveredDay) -> CoveredDayResponse:
    last = row.last
    return {
        "day": row.day.isoformat(),
        "coverage": round(last.coverage, 2),
        "pipeline_id": last.pipeline_id,
        "sha": last.sha,
    }
