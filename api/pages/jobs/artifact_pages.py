"""The pages of a job's artifacts: folders, and single files as text, pictures or reports."""

from collections.abc import Mapping
from typing import Annotated, Any, Final

from fastapi import Query, Request, Response

from api.deps import ServicesDep
from api.pages.frame.access import PREFIX, PageProjectDep
from api.pages.frame.responses import SECURITY, page
from api.pages.jobs.archive_folders import folder_of, trail_of
from api.pages.jobs.artifact_access import JobArchive, archive_of_job, opened
from api.pages.jobs.file_kinds import Kind, kind_of
from api.pages.jobs.file_text import text_of
from api.pages.jobs.report_tickets import places_of, report_base
from api.routes import RouteList
from api.services import Services
from api.v4.access import Id
from application.access import ProjectAccess
from domain.errors import Invalid, NotFound, PerdureError, TooLarge
from storage.archive import Archive

_UNREADABLE: Final = 422
"""The status of a page about an archive that cannot be looked into."""

router = RouteList(prefix=f"{PREFIX}/-/jobs/{{job_id}}/artifacts")


@router.get("/browse")
async def browse_artifacts(
    job_id: Id, services: ServicesDep, project: PageProjectDep, page: Annotated[int, Query(ge=1)] = 1
) -> Response:
    """What is in the archive."""
    return await _folder(services, project, job_id, "", page)


@router.get("/browse/{folder:path}")
async def browse_folder(
    job_id: Id, folder: str, services: ServicesDep, project: PageProjectDep, page: Annotated[int, Query(ge=1)] = 1
) -> Response:
    """What is in a folder of it."""
    return await _folder(services, project, job_id, folder.strip("/"), page)


async def _folder(services: Services, project: ProjectAccess, job_id: int, path: str, number: int) -> Response:
    found = await archive_of_job(services, project, job_id)
    known = _of_page(project, found)
    try:
        archive = await opened(services, found)
    except (Invalid, TooLarge) as error:
        return _refused(project, error, known)
    folder = folder_of(archive.entries, path, number)
    return page("jobs/artifacts.html", project.caller, folder=folder, **known)


def _refused(
    project: ProjectAccess, error: PerdureError, known: Mapping[str, Any], *, is_one_file: bool = False
) -> Response:
    about = {"fault": str(error), "is_one_file": is_one_file, **known}
    return page("jobs/broken_artifacts.html", project.caller, _UNREADABLE, **about)


@router.get("/file/{file:path}")
async def show_file(
    request: Request, job_id: Id, file: str, services: ServicesDep, project: PageProjectDep
) -> Response:
    """One file: a report in a frame with an origin of its own, a picture, text with line numbers, or its size."""
    found = await archive_of_job(services, project, job_id)
    known = _of_page(project, found)
    is_open = False
    try:
        archive = await opened(services, found)
        is_open = True
        entry = archive.entry(file)
        kind = kind_of(file, entry.size)
        text = await _text(archive, file, entry.size) if kind is Kind.OTHER else None
    except NotFound:
        raise
    except (Invalid, TooLarge) as error:
        return _refused(project, error, known, is_one_file=is_open)
    base = report_base(request, services, project.caller, found) if kind is Kind.REPORT else ""
    response = page(
        "jobs/artifact_file.html",
        project.caller,
        file=file,
        size=entry.size,
        kind=kind,
        text=text,
        above=trail_of(file)[:-1],
        base=base,
        **known,
    )
    if base:
        # The frame may go nowhere but to other files of its archive.
        places = " ".join(places_of(request, services, base))
        response.headers["Content-Security-Policy"] = f"{SECURITY['Content-Security-Policy']}; frame-src {places}"
    return response


async def _text(archive: Archive, file: str, size: int) -> Any:
    chunks = archive.read(file)
    try:
        return await text_of(chunks, size)
    finally:
        await chunks.aclose()  # type: ignore[attr-defined]


def _of_page(project: ProjectAccess, found: JobArchive) -> dict[str, Any]:
    return {
        "project": project.row,
        "job": found.job,
        "archive": found,
        "job_address": f"/{project.row.full_path}/-/jobs/{found.job.id}",
    }
