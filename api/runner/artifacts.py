"""`/jobs/:id/artifacts`: files that jobs hand in and on (docs/reference/runner-protocol.md, "Artifacts and cache")."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final
from uuid import uuid4

from fastapi import Request, Response
from fastapi.responses import JSONResponse
from sqlalchemy.ext.asyncio import AsyncConnection

from api.runner.artifact_types import LIMITS, artifact_type, check, limit_of, too_large
from api.runner.body import flag
from api.runner.job_access import job_token
from api.runner.multipart import FilePart, file_part
from api.services import Services
from api.stored_file import stored_file
from api.uploads import give_up
from application.jobs.job_access import claims_for, held, holder, require_running
from auth.job_token import JobClaims, Scope
from domain.config.reading.durations import parse_expiry
from domain.errors import Forbidden, Invalid, NotFound, TooLarge, Unavailable
from domain.size_limits import SizeLimit
from models.notifications import REPORTS
from models.repositories import database_time
from models.repositories.artifacts import artifacts, reports, unused_objects
from models.repositories.queue.held_jobs import HeldJob
from storage.objects import Stored
from storage.reports.content import Content
from storage.reports.parsers import DOTENV, PARSERS, READ

_ANY: Final = "application/octet-stream"
_MULTIPART: Final = 4096
"""Bytes that surround the one file of a body, at most."""


async def authorize(job_id: int, request: Request, services: Services) -> JSONResponse:
    """Say whether an upload would be taken; a front that stores files itself asks this first."""
    claims = claims_for(services, job_token(request), Scope.ARTIFACTS_UPLOAD, job_id)
    kind, _ = _kind(request.query_params)
    async with services.database.write() as connection:
        await held(connection, claims)
        limit = await _limit(connection, services, job_id, kind)
    check(limit, kind, request.query_params.get("filesize", ""))
    return JSONResponse({"MaximumSize": limit.size})


async def upload(job_id: int, request: Request, services: Services) -> JSONResponse:
    """Take one file of a running job, as a stream; 201 only when it lies safely in the store.

    One of each type: the same file again is a success, another one is refused. A job that ends meanwhile has handed in
    nothing.
    """
    claims = claims_for(services, job_token(request), Scope.ARTIFACTS_UPLOAD, job_id)
    kind, _ = _kind(request.query_params)
    key = f"projects/{claims.project_id}/jobs/{job_id}/{kind}-{uuid4().hex}"
    async with services.database.write() as connection:
        await held(connection, claims)
        limit = await _limit(connection, services, job_id, kind)
        _check_announced(request, limit, kind)
        await unused_objects.announce(connection, key)
    try:
        part = await file_part(request)
        stored = await _put(services, key, part, limit, kind)
        described = {**part.fields, **request.query_params}  # some runners describe a file behind it, in the body
        kind, file_format = _kind(described)
        await _check_size(services, job_id, kind, stored)
        variables = await _variables(services, key, stored) if kind == DOTENV else None
        expire_in = described.get("expire_in", "")
        await _keep(services, claims, _Arrived(kind, file_format, part.filename, key, stored, variables, expire_in))
    except BaseException:
        await give_up(services, key)
        raise
    if kind in READ and variables is None:
        await services.notifications.notify(REPORTS)
    return JSONResponse({"id": job_id, "file_type": kind, "size": stored.size}, 201)


def _kind(query: Mapping[str, str]) -> tuple[str, str]:
    return artifact_type(query.get("artifact_type", ""), query.get("artifact_format", ""))


async def _limit(connection: AsyncConnection, services: Services, job_id: int, kind: str) -> SizeLimit:
    """How large a file of a type may be. Raises `Invalid` for a type that the job cannot have."""
    if kind == artifacts.STEPS and not await artifacts.is_made_of_steps(connection, job_id):
        raise Invalid(f"Bad request: artifact_type '{kind}' is for jobs with `run`.")
    wish = await artifacts.wish_of(connection, job_id)
    return limit_of(kind, wish.max_artifacts_size, services.settings)


async def _check_size(services: Services, job_id: int, kind: str, stored: Stored) -> None:
    """The limit of a type that was told behind the file."""
    if kind in LIMITS:
        async with services.database.read() as connection:
            check(await _limit(connection, services, job_id, kind), kind, str(stored.size))


async def _put(services: Services, key: str, part: FilePart, limit: SizeLimit, kind: str) -> Stored:
    """Store a file. Raises `TooLarge`, `StorageFull`, `Unavailable`."""
    try:
        return await services.store.put(key, part.content, limit.size, limit.set_by)
    except TooLarge as error:
        raise too_large(limit, kind) from error


def _check_announced(request: Request, limit: SizeLimit, kind: str) -> None:
    announced = request.headers.get("content-length", "")
    if announced.isascii() and announced.isdigit():
        check(limit, kind, str(max(0, int(announced) - _MULTIPART)))


async def _variables(services: Services, key: str, stored: Stored) -> Content:
    """What a dotenv file says; its job waits for the response, since the next one may need it at once."""
    content = b"".join([part async for part in services.store.read(key, 0, stored.size)])
    return PARSERS[DOTENV](content)


@dataclass(frozen=True, slots=True)
class _Arrived:
    """A file that lies in the store. `variables` are those of a dotenv file; `expire_in` is what the call says."""

    kind: str
    file_format: str
    filename: str
    key: str
    stored: Stored
    variables: Content | None
    expire_in: str


async def _keep(services: Services, claims: JobClaims, arrived: _Arrived) -> None:
    """Write the row of an upload. Raises `Invalid` when the job has another file of the type."""
    async with services.database.write() as connection:
        row = await holder(connection, claims, writes=True)
        require_running(row)  # it may have been given up meanwhile
        earlier = await artifacts.find(connection, row.id, arrived.kind)
        if earlier is not None and earlier.sha256 != arrived.stored.sha256:
            raise Invalid("Bad request: another artifact of the same type already exists")
        if earlier is not None:
            await unused_objects.doom_announced(connection, arrived.key)
            return
        if not await unused_objects.take_up(connection, arrived.key):
            raise Unavailable("The upload took more than a day; begin again.")
        await _add(connection, services, row, arrived)


async def _add(connection: AsyncConnection, services: Services, row: HeldJob, arrived: _Arrived) -> None:
    now = await database_time.moment(connection)
    wish = (await artifacts.wish_of(connection, row.id)).wish or {}
    seconds = _seconds(arrived.expire_in or wish.get("expire_in", ""), services)
    variables = arrived.variables
    await artifacts.add(
        connection,
        now,
        job_id=row.id,
        project_id=row.project_id,
        file_type=arrived.kind,
        file_format=arrived.file_format,
        filename=arrived.filename,
        size=arrived.stored.size,
        sha256=arrived.stored.sha256,
        object_key=arrived.key,
        access=wish.get("access", "all"),
        parsed=variables is not None or arrived.kind not in READ,
        expire_at=None if seconds is None else now + timedelta(seconds=seconds),
    )
    if variables is not None:
        of_job = {"job_id": row.id, "pipeline_id": row.pipeline_id, "kind": arrived.kind}
        await reports.put(connection, **of_job, total=len(variables.entries), entries=variables.entries)


def _seconds(wish: str, services: Services) -> float | None:
    """How long a file is kept; None for ever."""
    if wish:
        return parse_expiry(wish)
    return services.settings.times.artifact_expire_in or None


async def download(job_id: int, request: Request, services: Services) -> Response:
    """The archive of a job, for the running job whose token names it."""
    token = job_token(request)
    if services.cluster is not None and services.job_tokens.archive_of(token) == job_id:
        async with services.database.read() as connection:  # a job of another pod, which that pod answers for
            known = await artifacts.available(connection, job_id, artifacts.ARCHIVE)
    else:
        claims = claims_for(services, token, Scope.ARTIFACTS_DOWNLOAD)
        if job_id not in claims.archives:
            raise Forbidden("Forbidden: this job does not depend on that one.")
        async with services.database.write() as connection:
            await held(connection, claims)
            known = await artifacts.available(connection, job_id, artifacts.ARCHIVE)
    if known is None:
        raise NotFound("Not Found: this job has no archive.")
    if services.settings.direct_download and flag(dict(request.query_params), "direct_download", default=False):
        address = await services.store.address(known.object_key)
        if address:
            return Response(status_code=302, headers={"Location": address})
    return await stored_file(services.store, known, _ANY, request.headers.get("range", ""))
