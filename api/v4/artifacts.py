"""Artifacts of a job for people: the whole archive, or one file of it."""

from typing import Any

from fastapi import APIRouter
from fastapi.responses import StreamingResponse

from api.deps import ServicesDep
from api.services import Services
from api.v4.access import JobDep
from api.v4.encoded_paths import decoded
from api.v4.streaming import download
from domain.errors import NotFound
from models.repositories import artifacts
from storage.archive import Archive
from storage.objects import verified

router = APIRouter(prefix="/projects/{project}/jobs/{job_id}/artifacts")


async def _archive(services: Services, job_id: int) -> Any:
    """The archive of a job. Raises `NotFound` where there is none (any more)."""
    async with services.database.read() as connection:
        row = await artifacts.find(connection, job_id, "archive")
    if row is None or (row.expire_at is not None and row.expire_at <= services.clock()):
        raise NotFound("404 Not Found")
    return row


@router.get("")
async def get_artifacts(found: JobDep, services: ServicesDep) -> StreamingResponse:
    """The archive; a damaged one breaks off before its end, so that nobody takes it for whole."""
    row = await _archive(services, found.row.id)
    chunks = verified(services.store.read(row.object_key), row.sha256)
    return await download(chunks, row.filename, row.size, "application/zip")


@router.get("/{path:path}")
async def get_artifact_file(path: str, found: JobDep, services: ServicesDep) -> StreamingResponse:
    """One file of the archive."""
    row = await _archive(services, found.row.id)
    archive = await Archive.open(services.store, row.object_key)
    entry = archive.entry(decoded(path))
    name = entry.name.rsplit("/", 1)[-1]
    return await download(archive.read(entry.name), name, entry.size, "application/octet-stream")
