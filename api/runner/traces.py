"""`PATCH /jobs/:id/trace`: the log, in order, by byte offset (reference: runner protocol, section 5)."""

import re
from typing import Final

from fastapi import Request, Response

from api.runner.body import limited_body
from api.runner.job_access import claims_for, held, job_token
from api.runner.trace_interval import TRACE_INTERVAL, trace_interval
from api.services import Services
from auth.job_token import Scope
from domain.errors import Invalid, JobNotRunning
from domain.status import Status
from models.columns import Record
from models.notifications import OUTBOX, trace_topic
from models.repositories import traces, verdicts

_RANGE: Final = re.compile(r"(\d{1,15})-(\d{1,15})")


async def append_trace(job_id: int, request: Request, services: Services) -> Response:
    """Append a chunk: 202 with the size, or 416 with the size when it does not start where the log ends."""
    claims = claims_for(services, job_token(request), Scope.TRACE, job_id)
    start = _start(request.headers.get("content-range", ""))
    sizes = services.settings.sizes
    content = await limited_body(request, sizes.trace_patch_bytes, "PERDURE_TRACE_PATCH_BYTES")
    async with services.database.write() as connection:
        row = await held(connection, claims)
        too_long = start + len(content) > sizes.trace_bytes
        size = start if too_long else await traces.append(connection, row, start, content)
    if too_long:
        await _drop(services, row)
    if traces.is_watched(row):
        await services.notifications.notify(trace_topic(job_id), count=1_000)
    headers = {
        "Job-Status": row.status,
        "Range": f"0-{size}",
        TRACE_INTERVAL: str(trace_interval(services, row)),
    }
    return Response(b"0", 202, headers, media_type="text/plain")


def _start(content_range: str) -> int:
    """Where a chunk begins. Its end is not believed: older runners send one byte too many."""
    found = _RANGE.fullmatch(content_range.removeprefix("bytes ").split("/")[0].strip())
    if found is None:
        raise Invalid("400 Bad request: Content-Range must be <first byte>-<last byte>.")
    return int(found[1])


async def _drop(services: Services, row: Record) -> None:
    """A log beyond the limit ends its job."""
    async with services.database.write() as connection:
        await verdicts.end_jobs(
            connection,
            [row.id],
            Status.FAILED,
            services.clock(),
            reason="trace_size_exceeded",
            hand_out=row.hand_out,
        )
    await services.notifications.notify(OUTBOX)
    limit = services.settings.sizes.trace_bytes
    raise JobNotRunning(f"403 Forbidden: the log is longer than {limit} bytes (PERDURE_TRACE_BYTES).", Status.FAILED)
