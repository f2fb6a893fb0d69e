"""`PATCH /jobs/:id/trace`: the log, in order, by byte offset (docs/reference/runner-protocol.md, "Log upload")."""

import re
from typing import Final, NoReturn

from fastapi import Request, Response
from starlette.background import BackgroundTasks

from api.runner.body import limited_body
from api.runner.job_access import job_token
from api.runner.trace_interval import TRACE_INTERVAL, trace_interval
from api.runner.trace_writer import Chunk
from api.services import Services
from api.v4.jobs.log import note_growth
from application.jobs.job_access import claims_for, held
from application.jobs.log_indexes import has_grown
from auth.job_token import JobClaims, Scope
from domain.errors import Invalid, JobNotRunning
from domain.pipelines.status import Status
from domain.size_limits import of_installation
from models.notifications import OUTBOX, trace_topic
from models.repositories.logs import traces
from models.repositories.pipelines import verdicts
from models.repositories.queue.held_jobs import HeldJob

_RANGE: Final = re.compile(r"(\d{1,15})-(\d{1,15})")


async def append_trace(job_id: int, request: Request, services: Services) -> Response:
    """Append a chunk: 202 with the size, or 416 with the size when it does not start where the log ends."""
    claims = claims_for(services, job_token(request), Scope.TRACE, job_id)
    start = _start(request.headers.get("content-range", ""))
    sizes = services.settings.sizes
    most = of_installation("PERDURE_TRACE_PATCH_BYTES", sizes.trace_patch_bytes, ", or the runner sends smaller pieces")
    content = await limited_body(request, most, "a piece of log")
    chunk = Chunk(claims, start, content)
    if not content:
        row = await _note(services, chunk)
    elif start + len(content) > sizes.trace_bytes:
        row = await _drop(services, claims)
    else:
        row = await services.trace_writer.append(chunk)
        services.metrics.trace_bytes.inc(len(content))
    headers = {
        "Job-Status": row.status,
        "Range": f"0-{start + len(content)}",
        TRACE_INTERVAL: str(trace_interval(services, row)),
    }
    return Response(b"0", 202, headers, media_type="text/plain", background=_afterwards(services, row, len(content)))


def _afterwards(services: Services, row: HeldJob, size: int) -> BackgroundTasks:
    """When its runner has the response, readers hear of a chunk, and a large log that has grown is read."""
    tasks = BackgroundTasks()
    if traces.is_watched(row):
        tasks.add_task(services.notifications.show, trace_topic(row.id))
    if has_grown(row.size, size):
        tasks.add_task(note_growth, services, row.id)
    return tasks


def _start(content_range: str) -> int:
    """Where a chunk begins. Its end is not believed: older runners send one byte too many."""
    found = _RANGE.fullmatch(content_range.removeprefix("bytes ").split("/")[0].strip())
    if found is None:
        raise Invalid("Bad request: Content-Range must be <first byte>-<last byte>.")
    return int(found[1])


async def _note(services: Services, chunk: Chunk) -> HeldJob:
    """Some runners flush an empty buffer: a chunk of nothing would stand in the way of the next."""
    async with services.database.write() as connection:
        return chunk.behind(await held(connection, chunk.claims))


async def _drop(services: Services, claims: JobClaims) -> NoReturn:
    """A log beyond the limit ends its job, and says so at its end. Raises `JobNotRunning`."""
    most = of_installation("PERDURE_TRACE_BYTES", services.settings.sizes.trace_bytes, "; or let the job print less")
    words = most.exceeded("The log").removeprefix("Request Entity Too Large: ")
    async with services.database.write() as connection:
        row = await held(connection, claims)
        reason, now = "trace_size_exceeded", services.clock()
        await traces.add_words(connection, row.id, f"This log is cut here, and the job has failed. {words}")
        await verdicts.end_jobs(connection, [row.id], Status.FAILED, now, reason=reason, hand_out=row.hand_out)
    await services.notifications.notify(OUTBOX)
    raise JobNotRunning(f"Forbidden: {words}", Status.FAILED)
