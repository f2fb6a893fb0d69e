"""The log of a job for its page: outline, windows, search; and all of it as plain text, to read or to keep."""

from dataclasses import dataclass
from typing import Annotated, Any, Final

import orjson
from fastapi import Depends, Query
from fastapi.responses import Response, StreamingResponse
from markupsafe import Markup

from api.deps import ServicesDep
from api.pages.frame.access import PREFIX, PageProjectDep
from api.pages.jobs.log_lines import Line
from api.pages.jobs.log_moments import line_at
from api.pages.jobs.log_outline import outline
from api.pages.jobs.log_search import MAX_QUERY, finder, search
from api.pages.jobs.log_windows import MAX_LINES, window
from api.routes import RouteList
from api.services import Services
from api.v4.access import Id
from api.v4.jobs.log import Log, index_of, log_of
from api.v4.jobs.traces import Offset, plain_log
from domain.errors import Invalid
from domain.logs.index import Part, lines_of
from domain.logs.moments import MAX_SECONDS
from models.repositories.pipelines import jobs
from models.rows.pipelines import JobFacts

FIRST: Final = 200
"""Lines that come with the page."""
_HEADERS: Final = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}

router = RouteList(prefix=f"{PREFIX}/-/jobs/{{job_id}}")

LineNumber = Annotated[int, Query(ge=1, le=2**53)]


@dataclass(frozen=True, slots=True)
class ShownLine:
    """A line for a template."""

    html: Markup
    kind: str


@dataclass(frozen=True, slots=True)
class FirstWindow:
    """The end of a log as it comes with the page, for those who run no script; `first` is its first line's number."""

    log: Log
    lines: list[ShownLine]
    first: int
    total: int
    began: int
    """When the job was taken, in milliseconds since 1970."""


@dataclass(frozen=True, slots=True)
class _Opened:
    """A log with its index, and the job that has it."""

    row: JobFacts
    log: Log
    index: Part


async def opened(services: Services, row: JobFacts) -> _Opened:
    """The log of a job, indexed."""
    log = await log_of(services, row)
    return _Opened(row, log, await index_of(services, log))


async def opened_log(job_id: Id, services: ServicesDep, project: PageProjectDep) -> _Opened:
    """The log that an address names. Raises `NotFound`."""
    async with services.database.read() as connection:
        row = await jobs.get(connection, job_id, project.row.id)
    return await opened(services, row)


OpenedDep = Annotated[_Opened, Depends(opened_log)]


async def first_window(services: Services, job: JobFacts) -> FirstWindow:
    """What comes with the page."""
    found = await opened(services, job)
    total = lines_of(found.index.after, found.log.size)
    first = max(1, total - FIRST + 1)
    lines = [_shown(line) for line in await window(services, found.log, found.index, first, FIRST)]
    began = 0 if job.started_at is None else round(job.started_at.timestamp() * 1_000)
    return FirstWindow(found.log, lines, first, total, began)


def _shown(line: Line) -> ShownLine:
    kinds = [name for name, is_one in (("heading", line.is_heading), ("error", line.is_error)) if is_one]
    return ShownLine(Markup(line.html), " ".join(("line", *kinds)))  # noqa: S704  # escaped piece by piece


@router.get("/log/outline")
async def log_outline(found: OpenedDep, seen: str = "") -> Response:
    """How many lines there are, sections, errors and where to open; without what was `seen` before."""
    return _document(outline(found.log, found.index, found.row.status, seen))


@router.get("/log/lines")
async def log_lines(
    found: OpenedDep,
    services: ServicesDep,
    first: LineNumber = 1,
    count: Annotated[int, Query(ge=1, le=MAX_LINES)] = FIRST,
) -> Response:
    """Lines by their numbers: `[HTML, milliseconds since 1970 or null, 1 for a heading + 2 for an error]` of each."""
    lines = await window(services, found.log, found.index, first, count)
    return _document(
        {
            "generation": found.log.generation,
            "size": found.log.size,
            "first": first,
            "lines": [(line.html, line.time, line.is_heading + 2 * line.is_error) for line in lines],
        }
    )


@router.get("/log/at")
async def log_moment(
    found: OpenedDep, services: ServicesDep, t: Annotated[int, Query(ge=0, le=MAX_SECONDS)] = 0
) -> Response:
    """The line that was printed at a moment, in seconds since 1970; null where nothing in the log has a time."""
    line = await line_at(services, found.log, found.index, t) if found.log.size else None
    return _document({"generation": found.log.generation, "line": line})


@router.get("/log/search")
async def log_search(
    found: OpenedDep,
    services: ServicesDep,
    q: Annotated[str, Query(max_length=MAX_QUERY)] = "",
    first: LineNumber = 1,
    pattern: bool = False,
    exact: bool = False,
) -> Response:
    """Numbers of the lines with a text, or with an RE2 pattern, from line `first` on.

    `next` is the line to go on at: a response takes a second at most. `fault` says what is wrong with a pattern, which
    is no error: it is being typed.
    """
    if not q:
        return _document({"generation": found.log.generation, "lines": [], "next": None})
    try:
        wanted = finder(q, is_pattern=pattern, is_exact=exact)
    except Invalid as error:
        return _document({"generation": found.log.generation, "lines": [], "next": None, "fault": str(error)})
    hits = await search(services, found.log, found.index, wanted, first)
    return _document({"generation": found.log.generation, "lines": hits.lines, "next": hits.next})


@router.get("/raw")
async def raw_log(job_id: Id, services: ServicesDep, project: PageProjectDep, offset: Offset = 0) -> StreamingResponse:
    """The log as plain text, from byte `offset` on."""
    async with services.database.read() as connection:
        row = await jobs.get(connection, job_id, project.row.id)
    return await plain_log(services, await log_of(services, row), offset)


@router.get("/log/download")
async def download_log(job_id: Id, services: ServicesDep, project: PageProjectDep) -> StreamingResponse:
    """The same as a file to keep."""
    response = await raw_log(job_id, services, project)
    response.headers["Content-Disposition"] = f'attachment; filename="job-{job_id}.log"'
    return response


def _document(document: dict[str, Any]) -> Response:
    return Response(orjson.dumps(document), media_type="application/json", headers=_HEADERS)
