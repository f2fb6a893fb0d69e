"""The page of figures over time, at the address of GitLab's "CI/CD analytics", and what it draws."""

from collections.abc import Sequence
from datetime import UTC, date, timedelta
from typing import Annotated, Final

from fastapi import Query, Request
from fastapi.responses import Response
from markupsafe import Markup

from api.deps import ServicesDep
from api.pages.frame.access import PREFIX, PageProjectDep
from api.pages.frame.responses import address_of_page, page
from api.pages.frame.templates import span
from api.pages.projects.curves import Frame, Line, Point, drawn, sample
from api.routes import RouteList
from domain.pipelines.figures import DAYS, CoveredDay, Figures, by_day
from models.repositories.projects import figures

router = RouteList(prefix=f"{PREFIX}/-/pipelines")

_MAX_NAME: Final = 20_000
"""Characters of a job's name."""


@router.get("/charts")
async def charts(
    request: Request,
    project: PageProjectDep,
    services: ServicesDep,
    job: Annotated[str, Query(max_length=_MAX_NAME)] = "",
) -> Response:
    """How often jobs succeed and how long they take, those of the name `job` by day, and the coverage by day.

    Without a name it is the job that runs most.
    """
    now = services.clock()
    since = now - timedelta(days=DAYS)
    async with services.database.read() as connection:
        reach = await figures.reach(connection, project.row.id, since)
        names = await figures.by_name(connection, project.row.id, since)
        chosen = job or (names[0].key if names else "")
        days = await figures.by_day(connection, project.row.id, chosen, since) if chosen else ()
        covered = by_day(await figures.covered(connection, project.row.id, project.row.default_branch, since))
    first, last = since.astimezone(UTC).date(), now.astimezone(UTC).date()
    return page(
        "projects/charts.html",
        project.caller,
        project=project.row,
        reach=reach,
        names=names,
        chosen=chosen,
        days=days,
        covered=covered,
        rate_curve=rate_curve(days, first, last),
        duration_curve=duration_curve(days, first, last),
        coverage_curve=coverage_curve(covered, first, last),
        sample=sample,
        here=address_of_page(request),
    )


def rate_curve(days: Sequence[Figures], first: date, last: date) -> Markup:
    """The share of jobs that succeeded."""
    points = [Point(_day(row), row.success_rate, f"{row.success_rate:g} % of {row.number}") for row in days]
    text = f"{_from_to(points)} Each point is a day; 100 % is at the top."
    frame = Frame(first, last, 100.0, "100 %", "50 %")
    return drawn("rate", "Success rate by day", text, frame, [Line("succeeded", points)])


def duration_curve(days: Sequence[Figures], first: date, last: date) -> Markup:
    """How long jobs took: p50 and p95."""
    p50 = [Point(_day(row), row.p50, span(row.p50)) for row in days]
    p95 = [Point(_day(row), row.p95, span(row.p95)) for row in days]
    top = max((point.value for point in p95), default=0.0)
    text = f"Half of the jobs: {_from_to(p50)} 95 % of them: {_from_to(p95)} Each point is a day."
    frame = Frame(first, last, top, span(top), span(top / 2))
    return drawn("duration", "Duration by day", text, frame, [Line("half took at most", p50), Line("95 %", p95)])


def coverage_curve(covered: Sequence[CoveredDay], first: date, last: date) -> Markup:
    """The coverage of the last pipeline of each day."""
    points = [Point(row.day, row.last.coverage, f"{row.last.coverage:.2f} %") for row in covered]
    text = f"{_from_to(points)} Each point is the last successful pipeline of a day; 100 % is at the top."
    frame = Frame(first, last, 100.0, "100 %", "50 %")
    return drawn("coverage", "Coverage by day", text, frame, [Line("coverage", points)])


def _day(row: Figures) -> date:
    return date.fromisoformat(row.key)


def _from_to(points: Sequence[Point]) -> str:
    """The first and the last value in words."""
    if not points:
        return "Nothing is known."
    begin, end = points[0], points[-1]
    return f"From {begin.text} on {begin.day.isoformat()} to {end.text} on {end.day.isoformat()}."
