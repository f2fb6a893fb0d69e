"""When each attempt of each job waited, was prepared and ran: a chart that is drawn on the server."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from fastapi import Request
from fastapi.responses import Response

from api.deps import ServicesDep
from api.pages.frame.access import PREFIX, PageProjectDep
from api.pages.frame.live_parts import Fragment
from api.pages.frame.templates import fragment, span
from api.pages.pipelines.graph import groups_of
from api.pages.pipelines.head import address_of, head_of
from api.pages.pipelines.tab import follow, pages, show
from api.pages.projects.home import Number
from api.routes import RouteList
from api.services import Services
from api.v4.access import Id
from application.access import ProjectAccess
from domain.graphs.chains import critical_path
from domain.graphs.timeline import Axis, Times, axis, segments, took
from domain.pipelines.shown_status import Shown, shown_job
from models.repositories.pipelines import overview
from models.repositories.pipelines.overview import DrawnJobRow

ROWS: Final = 200
"""Attempts on a page."""
WIDTH: Final = 960
"""Of the bars, in the picture's units."""
NAMES: Final = 240
"""Width of the names, left of them."""
RIGHT: Final = 44
"""Right of the bars: half of the last mark's words."""
ROW: Final = 26
TOP: Final = 34
"""Height of the axis."""
_LEAST: Final = 1.5
"""Width of the shortest piece that can be seen."""
_MAX_NAME: Final = 60

router = RouteList(prefix=f"{PREFIX}/-/pipelines/{{pipeline_id}}/timeline")


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a bar: where it is, what it is, and its begin and end in seconds since 1970."""

    kind: str
    x: float
    width: float
    told: str
    moment: int
    end: int


@dataclass(frozen=True, slots=True)
class Bar:
    """One attempt; `number` is its row."""

    number: int
    job: DrawnJobRow
    name: str
    shown: Shown
    y: int
    pieces: tuple[Piece, ...]
    told: str
    is_critical: bool


@dataclass(frozen=True, slots=True)
class Chart:
    """All bars of a page; `marks` are places and words of the axis."""

    bars: tuple[Bar, ...]
    marks: tuple[tuple[float, str], ...]
    height: int
    origin: datetime
    seconds: float


def chart(rows: Sequence[DrawnJobRow], begun: datetime, now: datetime, page: int) -> tuple[Chart, int, float]:
    """One page of a chart, how many bars there are in all, and what the critical path took."""
    latest = [row for row in rows if not row.retried]
    groups = groups_of(latest)
    longest = [max(group.jobs, key=lambda job: took(_times(latest[job]), now)) for group in groups]
    chain = critical_path([group.vertex for group in groups], [took(_times(latest[job]), now) for job in longest])
    critical = {latest[longest[group]].id for group in chain.vertices}
    moved = [row for row in rows if row.queued_at is not None or row.started_at is not None]
    moved.sort(key=lambda row: (row.queued_at or row.started_at or now, row.stage_position, row.position, row.attempt))
    along = _widened(axis([_times(row) for row in moved], begun, now), any(row.finished_at is None for row in moved))
    shown = moved[(page - 1) * ROWS : page * ROWS]
    bars = tuple(_bar(number, row, along, now, row.id in critical) for number, row in enumerate(shown))
    marks = tuple((_x(mark, along), _since(mark)) for mark in along.marks)
    drawn = Chart(bars, marks, TOP + len(bars) * ROW + 8, along.origin, along.seconds)
    return drawn, len(moved), chain.seconds


def _widened(found: Axis, is_running: bool) -> Axis:
    """Room for what still runs: up to the next mark, so that the whole chart is not drawn anew all the time."""
    if not is_running or len(found.marks) < 2:
        return found
    step = found.marks[1]
    return Axis(found.origin, found.marks[-1] + step, (*found.marks, found.marks[-1] + step))


def _times(row: DrawnJobRow) -> Times:
    return Times(row.queued_at, row.started_at, row.finished_at, row.script_at)


def _x(seconds: float, along: Axis) -> float:
    return round(NAMES + WIDTH * min(seconds, along.seconds) / along.seconds, 1)


def _bar(number: int, row: DrawnJobRow, along: Axis, now: datetime, is_critical: bool) -> Bar:
    pieces = []
    for one in segments(_times(row), along.origin, now):
        begin, end = _x(one.begin, along), _x(one.end, along)
        moment = int(along.origin.timestamp() + one.begin)
        told = f"{_WORDS[one.kind]} {span(one.end - one.begin)}, from {_since(one.begin)}"
        until = int(along.origin.timestamp() + one.end)
        pieces.append(Piece(one.kind, begin, round(max(_LEAST, end - begin), 1), told, moment, until))
    name = row.name if len(row.name) <= _MAX_NAME else f"{row.name[: _MAX_NAME - 1]}…"
    name += f" (attempt {row.attempt})" if row.attempt > 1 or row.retried else ""
    shown = shown_job(row)
    told = f"{name}: {shown.label}; {'; '.join(piece.told for piece in pieces)}"
    return Bar(number, row, name, shown, TOP + number * ROW, tuple(pieces), told, is_critical)


_WORDS: Final = {"queue": "waited", "prepare": "was prepared for", "run": "ran"}


def _since(seconds: float) -> str:
    """A place on the axis: `0`, `45 s`, `2 min`, `1 h 30 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s" if whole else "0"
    if whole < 3600:
        return f"{whole // 60} min" + (f" {whole % 60} s" if whole % 60 else "")
    rest = whole % 3600 // 60
    return f"{whole // 3600} h" + (f" {rest} min" if rest else "")


async def draw(services: Services, project: ProjectAccess, pipeline_id: int, number: int) -> Fragment:
    """The chart as it is now. Raises `NotFound`."""
    project, head = await head_of(services, project, pipeline_id)
    async with services.database.read() as connection:
        rows = await overview.drawn(connection, pipeline_id, retried=True)
    drawn, total, critical = chart(rows, head.row.created_at, services.clock(), number)
    return fragment(
        "pipelines/_timeline.html",
        project=project.row,
        head=head,
        address=address_of(project, pipeline_id),
        tab="timeline",
        chart=drawn,
        total=total,
        waiting=sum(not row.retried and row.queued_at is None and row.started_at is None for row in rows),
        critical=critical,
        width=NAMES + WIDTH + RIGHT,
        names=NAMES,
        row=ROW,
        number=number,
        last=pages(total, ROWS),
    )


@router.get("")
async def timeline_page(
    request: Request, pipeline_id: Id, services: ServicesDep, project: PageProjectDep, page: Number = 1
) -> Response:
    """The chart."""
    live = await draw(services, project, pipeline_id, page)
    return await show(request, project, pipeline_id, "timeline", live, script="scripts/graph.js", broad=True)


@router.get("/events")
async def timeline_events(
    request: Request, pipeline_id: Id, services: ServicesDep, project: PageProjectDep, page: Number = 1
) -> Response:
    """Changes of that page."""
    return await follow(request, services, project, pipeline_id, lambda: draw(services, project, pipeline_id, page))
