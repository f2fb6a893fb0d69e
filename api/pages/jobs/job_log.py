"""The log of a job in windows: the end of it with the page, what follows as it comes, and the whole as plain text."""

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Final

from fastapi.responses import JSONResponse, StreamingResponse
from markupsafe import Markup

from api.deps import ServicesDep
from api.pages.frame.access import PREFIX, PageProjectDep
from api.pages.jobs.log_lines import State, render_piece
from api.routes import RouteList
from api.services import Services
from api.v4.access import Id
from api.v4.jobs.log import Log, log_of, read_log
from api.v4.jobs.traces import Offset, plain_log
from models.repositories.pipelines import jobs
from models.rows.pipelines import JobFacts

WINDOW: Final = 512 * 1024
"""Bytes of a log that come with the page or with one response."""
_THREADS: Final = ThreadPoolExecutor(2, thread_name_prefix="logs")
"""A window of nothing but escapes takes tenths of a second, which the event loop does not have."""

router = RouteList(prefix=f"{PREFIX}/-/jobs/{{job_id}}")


@dataclass(frozen=True, slots=True)
class Window:
    """A piece of a log: HTML, and where the next one begins."""

    html: Markup
    tail: Markup
    generation: int
    skipped: int
    offset: int
    state: str
    more: bool


async def _collected(chunks: AsyncIterator[bytes]) -> bytes:
    return b"".join([chunk async for chunk in chunks])


async def window(services: Services, log: Log, start: int, state: State) -> Window:
    """The lines from byte `start` on, at most `WINDOW` bytes."""
    data = await _collected(read_log(services, log, start, start + WINDOW))
    end = start + len(data)
    full = len(data) == WINDOW and b"\n" not in data
    rendering = partial(render_piece, data, state, whole=full or (log.frozen and end >= log.size))
    piece = await asyncio.get_running_loop().run_in_executor(_THREADS, rendering)
    return Window(
        html=Markup(piece.html),  # noqa: S704  # escaped line by line
        tail=Markup(piece.tail),  # noqa: S704
        generation=log.generation,
        skipped=start,
        offset=start + piece.consumed,
        state=str(piece.state),
        more=len(data) == WINDOW,
    )


async def first_window(services: Services, job: JobFacts) -> Window:
    """The end of a log, from a line's beginning on; of a short one all."""
    log = await log_of(services, job)
    if log.size <= WINDOW:
        return await window(services, log, 0, State())
    start = log.size - WINDOW
    data = await _collected(read_log(services, log, start, start + WINDOW // 2))
    return await window(services, log, start + data.find(b"\n") + 1, State(0))


@router.get("/log")
async def next_window(
    job_id: Id,
    services: ServicesDep,
    project: PageProjectDep,
    offset: Offset = 0,
    generation: int = 0,
    state: str = "",
) -> JSONResponse:
    """What follows byte `offset`; from the beginning when the runner has begun to send the log again (`again`)."""
    async with services.database.read() as connection:
        row = await jobs.get(connection, job_id, project.row.id)
    log = await log_of(services, row)
    again = log.generation != generation or offset > log.size
    first = again or offset == 0
    piece = await window(services, log, 0 if first else offset, State() if first else State.parse(state))
    document = {
        "again": again,
        "html": piece.html,
        "tail": piece.tail,
        "generation": piece.generation,
        "offset": piece.offset,
        "state": piece.state,
        "more": piece.more,
    }
    return JSONResponse(document, headers={"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"})


@router.get("/raw")
async def raw_log(job_id: Id, services: ServicesDep, project: PageProjectDep, offset: Offset = 0) -> StreamingResponse:
    """The log as plain text, from byte `offset` on."""
    async with services.database.read() as connection:
        row = await jobs.get(connection, job_id, project.row.id)
    return await plain_log(services, await log_of(services, row), offset)
