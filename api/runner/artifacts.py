"""`/jobs/:id/artifacts`: files that jobs hand in and on (reference: runner protocol, section 6)."""

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import Final
from uuid import uuid4

import structlog
from fastapi import Request, Response
from fastapi.responses import JSONResponse, StreamingResponse

from api.runner.job_access import claims_for, held, job_token
from api.runner.multipart import FilePart, file_part
from api.services import Services
from auth.job_token import Scope, archive_scope
from domain.config.reading.durations import parse_expiry
from domain.errors import Forbidden, Invalid, NotFound, TooLarge
from models.columns import Record
from models.repositories import artifacts, hand_outs
from storage.junit import JUnitReport, parse_junit
from storage.objects import Stored

log = structlog.get_logger()

_FORMATS: Final = frozenset({"zip", "gzip", "raw", "zipzstd", "tarzstd"})
_REPORT_BYTES: Final = 10 * 1024 * 1024


async def upload(job_id: int, request: Request, services: Services) -> JSONResponse:
    """Take one file of a running job, as a stream; 201 only when it lies safely in the store."""
    claims = claims_for(services, job_token(request), Scope.ARTIFACTS_UPLOAD, job_id)
    async with services.database.write() as connection:
        row = await held(connection, claims)
    kind, file_format = _kind(request)
    _check_announced(request, services)
    part = await file_part(request)
    key = f"projects/{row.project_id}/jobs/{row.id}/{kind}-{uuid4().hex}"
    stored = await services.store.put(key, part.content, limit=services.settings.sizes.artifact_bytes)
    now = services.clock()
    async with services.database.write() as connection:
        row = await held(connection, claims)  # it may have been given up meanwhile
        replaced = await artifacts.find(connection, row.id, kind)
        if replaced is not None:
            await artifacts.remove(connection, replaced.id)
        values = _values(row, part, stored, key, kind, file_format)
        await artifacts.add(connection, now, **values, expire_at=_expiry(request, now))
    if replaced is not None:
        await services.store.delete(replaced.object_key)
    if kind == "junit":
        await _keep_report(services, row, key)
    return JSONResponse({"id": row.id, "file_type": kind, "size": stored.size}, 201)


def _kind(request: Request) -> tuple[str, str]:
    kind = request.query_params.get("artifact_type") or "archive"
    file_format = request.query_params.get("artifact_format") or "zip"
    if file_format not in _FORMATS or not kind.isidentifier() or len(kind) > 50:
        raise Invalid(f"400 Bad request: artifact_type {kind!r} in artifact_format {file_format!r} is not known.")
    return kind, file_format


def _check_announced(request: Request, services: Services) -> None:
    limit = services.settings.sizes.artifact_bytes
    announced = request.headers.get("content-length", "")
    if announced.isdigit() and int(announced) > limit + 4096:
        raise TooLarge(f"413 Request Entity Too Large: at most {limit} bytes are taken (PERDURE_ARTIFACT_BYTES).")


def _expiry(request: Request, now: datetime) -> datetime | None:
    """When an artifact may go; never when its job does not say."""
    wish = request.query_params.get("expire_in", "")
    seconds = parse_expiry(wish) if wish else None
    return now + timedelta(seconds=seconds) if seconds else None


def _values(row: Record, part: FilePart, stored: Stored, key: str, kind: str, file_format: str) -> dict[str, object]:
    return {
        "job_id": row.id,
        "project_id": row.project_id,
        "file_type": kind,
        "file_format": file_format,
        "filename": part.filename,
        "size": stored.size,
        "sha256": stored.sha256,
        "object_key": key,
    }


async def _keep_report(services: Services, row: Record, key: str) -> None:
    """Read a JUnit report into its table; a broken one is kept with its fault and harms nothing."""
    content = b"".join([part async for part in services.store.read(key, 0, _REPORT_BYTES)])
    values: dict[str, object] = {"total": 0, "failed": 0, "errored": 0, "skipped": 0, "seconds": 0.0, "cases": []}
    try:
        report = await asyncio.to_thread(parse_junit, content)
    except (Invalid, TooLarge) as error:
        log.warning("a JUnit report cannot be read", job=row.id, error=str(error))
        values["error"] = str(error)
    else:
        values = _report_values(report)
    async with services.database.write() as connection:
        await artifacts.put_report(connection, job_id=row.id, pipeline_id=row.pipeline_id, **values)


def _report_values(report: JUnitReport) -> dict[str, object]:
    return {
        "total": report.total,
        "failed": report.failed,
        "errored": report.errored,
        "skipped": report.skipped,
        "seconds": report.seconds,
        "cases": list(report.cases),
    }


async def download(job_id: int, request: Request, services: Services) -> Response:
    """The archive of a job, for the running job that depends on it.

    A token for exactly this archive opens it wherever it is from; any other one those of the job's own pipeline.
    """
    token = job_token(request)
    narrow = archive_scope(job_id)
    is_named = narrow in services.job_tokens.read(token).scopes
    claims = claims_for(services, token, narrow if is_named else Scope.ARTIFACTS_DOWNLOAD)
    async with services.database.write() as connection:
        row = await held(connection, claims)
        known = await artifacts.find(connection, job_id, hand_outs.ARCHIVE)
        is_granted = is_named or any(item.id == job_id for item in await hand_outs.dependencies_of(connection, row.id))
    if known is None:
        raise NotFound("404 Not Found: this job has no archive.")
    if not is_granted:
        raise Forbidden("403 Forbidden: this job does not depend on that one.")
    headers = {
        "Content-Length": str(known.size),
        "Content-Disposition": 'attachment; filename="artifacts.zip"',
        "X-Content-Type-Options": "nosniff",
    }
    return StreamingResponse(_bytes(services, known.object_key), 200, headers, "application/octet-stream")


async def _bytes(services: Services, key: str) -> AsyncIterator[bytes]:
    async for part in services.store.read(key):
        yield part
