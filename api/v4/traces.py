"""The log of a job as plain text."""

from fastapi import APIRouter
from fastapi.responses import StreamingResponse

from api.deps import ServicesDep
from api.services import Services
from api.v4.access import JobDep
from api.v4.job_log import Log, log_of, read_log
from api.v4.streaming import begun

router = APIRouter(prefix="/projects/{project}/jobs/{job_id}")


@router.get("/trace")
async def get_trace(found: JobDep, services: ServicesDep) -> StreamingResponse:
    """The whole log as it is now."""
    return await plain_log(services, await log_of(services, found.row))


async def plain_log(services: Services, log: Log, start: int = 0) -> StreamingResponse:
    """A log from byte `start` on. Only a frozen one has a length: of the others bytes may still be taken back."""
    headers = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}
    if log.frozen:
        headers["Content-Length"] = str(max(0, log.size - start))
    chunks = await begun(read_log(services, log, start))
    return StreamingResponse(chunks, media_type="text/plain; charset=utf-8", headers=headers)
