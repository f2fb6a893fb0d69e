"""Artifacts of a job for people: the whole archive, its list, one file of it; kept and deleted."""

from typing import Annotated, Final

from fastapi import Query, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse

from api.deps import ServicesDep
from api.routes import RouteList
from api.services import Services
from api.stored_file import stored_file
from api.v4.access import JobDep
from api.v4.encoded_paths import decoded
from api.v4.jobs.artifact_access import readable_archive
from api.v4.jobs.jobs import full
from api.v4.pagination import PagingDep
from api.v4.representation.archives import ArchiveEntryResponse, tree
from api.v4.representation.jobs import JobResponse
from api.v4.streaming import download
from application.jobs import leavings
from models.rows.artifacts import ArtifactRow
from storage.archive import Archive

router = RouteList(prefix="/projects/{project}/jobs/{job_id}/artifacts")

ZIP: Final = "application/zip"


@router.get("")
async def get_artifacts(found: JobDep, request: Request, services: ServicesDep) -> Response:
    """The archive, or one range of its bytes."""
    row = await readable_archive(services, found.project, found.row.id)
    return await stored_file(services.store, row, ZIP, request.headers.get("range", ""))


@router.get("/tree", response_model=list[ArchiveEntryResponse])
async def list_artifacts(
    found: JobDep,
    services: ServicesDep,
    paging: PagingDep,
    path: str = "",
    recursive: Annotated[bool, Query()] = False,
) -> JSONResponse:
    """What is in a folder of the archive, by name; nothing is unpacked."""
    row = await readable_archive(services, found.project, found.row.id)
    archive = await Archive.open(services.store, row.object_key)
    items = tree(archive.entries, path, recursive=recursive)
    start = (paging.number - 1) * paging.size
    return paging.response(items[start : start + paging.size], len(items))


@router.get("/{path:path}")
async def get_artifact_file(path: str, found: JobDep, services: ServicesDep) -> StreamingResponse:
    """One file of the archive."""
    row = await readable_archive(services, found.project, found.row.id)
    return await file_of(services, row, decoded(path))


@router.post("/keep")
async def keep_artifacts(found: JobDep, services: ServicesDep) -> JobResponse:
    """Keep the artifacts of a job for ever."""
    await leavings.keep_artifacts(services, found.project, found.row)
    return await full(services, found.row.id, found.project.row)


@router.delete("", status_code=204)
async def delete_artifacts(found: JobDep, services: ServicesDep) -> None:
    """Delete the artifacts of a job that has ended, and what its reports said."""
    await leavings.delete_artifacts(services, found.project, found.row)


async def file_of(services: Services, row: ArtifactRow, path: str) -> StreamingResponse:
    """One file of an archive, to be saved. Raises `NotFound`, `Invalid` for a broken or hostile archive."""
    archive = await Archive.open(services.store, row.object_key)
    entry = archive.entry(path)
    name = entry.name.rsplit("/", 1)[-1]
    return await download(archive.read(entry.name), name, entry.size, "application/octet-stream")
