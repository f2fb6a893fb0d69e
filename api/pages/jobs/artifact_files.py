"""The bytes of artifacts for a browser: the archive, single files, and the files of reports.

Whatever a job made comes with a policy under which it can do nothing in our name
(docs/decisions/0054-reports-in-an-origin-of-their-own.md).
"""

from collections.abc import AsyncIterator
from typing import Annotated, Final

from fastapi import Query, Request, Response
from fastapi.responses import PlainTextResponse, RedirectResponse, StreamingResponse

from api.deps import ServicesDep
from api.errors import status_of
from api.pages.frame.access import PREFIX, PageProjectDep
from api.pages.jobs.artifact_access import archive_of_job, opened
from api.pages.jobs.file_kinds import SANDBOX, TEXT, Kind, is_page, kind_of, type_of_part
from api.pages.jobs.report_tickets import TicketHolder, holder_of_ticket, report_address, report_policy
from api.routes import RouteList
from api.services import Services
from api.stored_file import stored_file
from api.v4.access import Id
from api.v4.jobs.artifact_access import require_access
from api.v4.jobs.artifacts import ZIP
from api.v4.streaming import begun, download
from domain.errors import Forbidden, Invalid, NotFound, TooLarge, Unauthenticated
from models.repositories.artifacts import artifacts
from models.repositories.pipelines import jobs
from storage.archive import Archive

router = RouteList(prefix=f"{PREFIX}/-/jobs/{{job_id}}/artifacts")

_OF_REPORT: Final = {
    "Access-Control-Allow-Origin": "*",  # the address is the proof; modules and fonts ask for this
    "Cache-Control": "private, max-age=300",
    "Referrer-Policy": "no-referrer",  # addresses of reports are tickets
    "X-Content-Type-Options": "nosniff",
    "X-Robots-Tag": "noindex",
}


@router.get("/download")
async def download_artifacts(
    job_id: Id,
    request: Request,
    services: ServicesDep,
    project: PageProjectDep,
    file_type: Annotated[str, Query(max_length=100)] = artifacts.ARCHIVE,
) -> Response:
    """The archive, or what `file_type` names of a job's files, to be saved."""
    asked = request.headers.get("range", "")
    if file_type == artifacts.ARCHIVE:
        found = await archive_of_job(services, project, job_id)
        return await stored_file(services.store, found.row, ZIP, asked)
    async with services.database.read() as connection:
        await jobs.get(connection, job_id, project.row.id)
        row = await artifacts.available(connection, job_id, file_type)
    if row is None:
        raise NotFound("This job has no such file, or not any more.")
    require_access(project, row.access)
    return await stored_file(services.store, row, "application/octet-stream", asked)


@router.get("/raw/{file:path}")
async def raw_file(request: Request, job_id: Id, file: str, services: ServicesDep, project: PageProjectDep) -> Response:
    """One file: a report leads to its sandbox, pictures and text are shown, all else is saved."""
    found = await archive_of_job(services, project, job_id)
    archive = await opened(services, found)
    entry = archive.entry(file)
    kind = kind_of(file, entry.size)
    if kind is Kind.REPORT:
        return RedirectResponse(report_address(request, services, project.caller, found, file), 303)
    if kind is Kind.PICTURE:
        return await _shown(archive.read(file), entry.size, type_of_part(file))
    return await _text_or_download(archive, file, entry.size)


@router.get("/report/{ticket}/{file:path}")
async def report_file(
    request: Request, job_id: Id, path: str, ticket: str, file: str, services: ServicesDep
) -> Response:
    """A file of a report, for whoever has its ticket; a folder is its `index.html`. A frame shows what is wrong."""
    try:
        holder = await holder_of_ticket(request, services, path, job_id, ticket)
        return await _part(request, services, holder, file)
    except (NotFound, Forbidden, Unauthenticated, Invalid, TooLarge) as error:
        return PlainTextResponse(str(error), status_of(error), {**_OF_REPORT, "Content-Security-Policy": SANDBOX})


async def _part(request: Request, services: Services, holder: TicketHolder, file: str) -> Response:
    archive = await opened(services, holder.archive)
    if not file or file.endswith("/"):
        file = f"{file}index.html"
    entry = archive.entry(file)
    policy = report_policy(request, services, holder) if is_page(file) else SANDBOX
    headers = {**_OF_REPORT, "Content-Security-Policy": policy, "Content-Length": str(entry.size)}
    return StreamingResponse(await begun(archive.read(file)), media_type=type_of_part(file), headers=headers)


async def _text_or_download(archive: Archive, file: str, size: int) -> Response:
    chunks = archive.read(file)
    first = await anext(chunks, b"")

    async def whole() -> AsyncIterator[bytes]:
        yield first
        async for chunk in chunks:
            yield chunk

    if _is_text(first):
        return await _shown(whole(), size, TEXT)
    return await download(whole(), file.rpartition("/")[2], size, "application/octet-stream")


def _is_text(first: bytes) -> bool:
    """Whether a file begins as UTF-8; what is cut at the end of a chunk may be the beginning of a character."""
    if b"\0" in first:
        return False
    return "\ufffd" not in first[:-3].decode("utf-8", "replace")


async def _shown(chunks: AsyncIterator[bytes], size: int, media_type: str) -> StreamingResponse:
    headers = {
        "Content-Length": str(size),
        "Content-Security-Policy": SANDBOX,
        "Cache-Control": "private, no-store",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
    }
    return StreamingResponse(await begun(chunks), media_type=media_type, headers=headers)
