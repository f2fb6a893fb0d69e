"""The log of a job as plain text: all of it, or a range of its bytes (RFC 9110, section 14)."""

import re
from typing import Annotated, Final

from fastapi import Query, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse

from api.deps import ServicesDep
from api.routes import RouteList
from api.services import Services
from api.v4.access import JobDep
from api.v4.jobs.log import Log, log_of, read_log, readable
from api.v4.streaming import begun

router = RouteList(prefix="/projects/{project}/jobs/{job_id}")

Offset = Annotated[int, Query(ge=0, le=2**53)]

_RANGE: Final = re.compile(r"bytes=(?:(\d{1,15})-(\d{0,15})|-(\d{1,15}))")


@router.get("/trace")
async def get_trace(request: Request, found: JobDep, services: ServicesDep, offset: Offset = 0) -> Response:
    """The log as it is now, from byte `offset` on, or the range that the header `Range` asks for."""
    log = await log_of(services, found.row)
    header = request.headers.get("range", "")
    size = await readable(services, log) if header else log.size
    wanted = requested_range(header, size)
    if wanted is None:
        return await plain_log(services, log, offset)
    if not wanted:
        message = {"message": f"416 Range Not Satisfiable: the log has {size} bytes."}
        return JSONResponse(message, 416, {"Content-Range": f"bytes */{size}"})
    return await plain_log(services, log, wanted.start, wanted.stop, status=206)


def requested_range(header: str, size: int) -> range | None:
    """The bytes that a header asks for, none of them when there are none to give; None when all are wanted.

    What is no single range of bytes is left out of account, as the standard has it.
    """
    found = _RANGE.fullmatch(header)
    if found is None:
        return None
    first, last, length = found.groups()
    if length is not None:
        return range(max(0, size - int(length)), size)
    if last and int(last) < int(first):
        return None
    return range(int(first), min(size, int(last) + 1) if last else size)


async def plain_log(
    services: Services, log: Log, start: int = 0, end: int | None = None, status: int = 200
) -> StreamingResponse:
    """A part of a log. Only a frozen one has a length: of the others bytes may still be taken back."""
    end = log.size if end is None else end
    headers = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Accept-Ranges": "bytes"}
    if status == 206:
        headers["Content-Range"] = f"bytes {start}-{end - 1}/{log.size if log.frozen else '*'}"
    if log.frozen:
        headers["Content-Length"] = str(max(0, end - start))
    chunks = await begun(read_log(services, log, start, end))
    return StreamingResponse(chunks, status, headers=headers, media_type="text/plain; charset=utf-8")
