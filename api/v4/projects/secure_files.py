"""Secure files of projects: keystores, profiles, certificates. They are kept sealed; jobs fetch them with their token.

Source: GitLab: "Project-level Secure Files API", "Project-level Secure Files".
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from typing import Any, Final
from uuid import uuid4

from fastapi import Request, Response
from fastapi.responses import JSONResponse, StreamingResponse
from typing_extensions import TypedDict

from api.deps import ServicesDep
from api.routes import RouteList
from api.runner.multipart import FilePart, file_part
from api.services import Services
from api.uploads import give_up
from api.v4.access import Id, ProjectDep
from api.v4.pagination import PagingDep
from api.v4.streaming import download
from application.access import ProjectAccess
from application.audit import record
from auth.permissions import Action
from domain.errors import FieldsInvalid, Invalid, TooLarge, Unavailable
from domain.moments import moment
from domain.object_keys import secure_file_key
from domain.projects.secure_files import LIMIT, checked_name
from models.repositories.artifacts import unused_objects
from models.repositories.installation.audit import Happened
from models.repositories.paging import slice_of
from models.repositories.projects import secure_files
from models.rows.secure_files import SecureFileRow

router = RouteList(prefix="/projects/{project}/secure_files")

_ANY: Final = "application/octet-stream"
_FORM: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "file": {"type": "string", "format": "binary"}},
    "required": ["name", "file"],
}
_BODY: Final = {"requestBody": {"required": True, "content": {"multipart/form-data": {"schema": _FORM}}}}


class SecureFileResponse(TypedDict):
    """A file, without its content."""

    id: int
    name: str
    checksum: str
    checksum_algorithm: str
    created_at: str
    expires_at: None
    metadata: None


def _shown(row: SecureFileRow) -> SecureFileResponse:
    """A file as GitLab's JSON; what is in it is read by nobody here, so it has no `metadata` and no end."""
    return {
        "id": row.id,
        "name": row.name,
        "checksum": row.sha256,
        "checksum_algorithm": "sha256",
        "created_at": moment(row.created_at),
        "expires_at": None,
        "metadata": None,
    }


@router.get("", response_model=list[SecureFileResponse])
async def list_secure_files(project: ProjectDep, services: ServicesDep, paging: PagingDep) -> JSONResponse:
    """The secure files of a project, the oldest first; developers may, and jobs of theirs."""
    project.require(Action.INSPECT)
    async with services.database.read() as connection:
        found = await slice_of(connection, secure_files.of_project(project.row.id), paging.number, paging.size)
    return paging.response([_shown(row) for row in found.rows], found.total)


@router.get("/{file_id}")
async def get_secure_file(file_id: Id, project: ProjectDep, services: ServicesDep) -> SecureFileResponse:
    """One secure file, without its content."""
    return _shown(await _row(project, services, file_id))


@router.get("/{file_id}/download")
async def download_secure_file(file_id: Id, project: ProjectDep, services: ServicesDep) -> StreamingResponse:
    """The content of a secure file, as it was handed in."""
    row = await _row(project, services, file_id)
    sealed = b"".join([part async for part in services.store.read(row.object_key)])
    try:
        content = await asyncio.to_thread(services.sealer.open_bytes, sealed, row.object_key)
    except Invalid as error:  # nothing that the caller can mend
        raise Unavailable(str(error)) from error
    return await download(_whole(content), row.name, row.size, _ANY)


@router.post("", status_code=201, openapi_extra=_BODY)
async def create_secure_file(request: Request, project: ProjectDep, services: ServicesDep) -> SecureFileResponse:
    """Keep a file of at most 5 MiB under a name that the project has not yet; maintainers may."""
    project.require(Action.ADMINISTER)
    part = await file_part(request)
    content = await _content(part)
    name = checked_name(part.fields.get("name") or request.query_params.get("name", ""))
    key = secure_file_key(project.row.id, uuid4().hex)
    async with services.database.write() as connection:
        await secure_files.require_room(connection, project.row.id, name)
        await unused_objects.announce(connection, key)
    try:
        await services.store.put(key, await asyncio.to_thread(services.sealer.seal_bytes, content, key))
        return _shown(await _keep(services, project, name, key, content))
    except BaseException:
        await give_up(services, key)
        raise


@router.delete("/{file_id}", status_code=204)
async def remove_secure_file(file_id: Id, project: ProjectDep, services: ServicesDep) -> Response:
    """Remove a secure file; maintainers may."""
    project.require(Action.ADMINISTER)
    async with services.database.write() as connection:
        row = await secure_files.get(connection, project.row.id, file_id)
        await secure_files.remove(connection, row)
        happened = Happened("secure_file_removed", {"id": row.id, "name": row.name})
        await record(connection, project.caller, project.entity, happened, services.clock())
    return Response(status_code=204)


async def _row(project: ProjectAccess, services: Services, file_id: int) -> SecureFileRow:
    """A file of a project whose files the caller may read. Raises `NotFound`, `Forbidden`."""
    project.require(Action.INSPECT)
    async with services.database.read() as connection:
        return await secure_files.get(connection, project.row.id, file_id)


async def _keep(services: Services, project: ProjectAccess, name: str, key: str, content: bytes) -> SecureFileRow:
    """Write the row of a file whose object is in the store. Raises `Invalid` when another one was quicker."""
    now = services.clock()
    async with services.database.write() as connection:
        await secure_files.require_room(connection, project.row.id, name)
        if not await unused_objects.take_up(connection, key):
            raise Unavailable("The upload took more than a day; begin again.")
        values = {"size": len(content), "sha256": hashlib.sha256(content).hexdigest(), "object_key": key}
        row = await secure_files.add(connection, now, project_id=project.row.id, name=name, **values)
        happened = Happened("secure_file_created", {"id": row.id, "name": name, "checksum": row.sha256})
        await record(connection, project.caller, project.entity, happened, now)
    return row


async def _content(part: FilePart) -> bytes:
    """The whole file, since it is sealed as a whole. Raises `Invalid` for an empty one, `TooLarge`."""
    held = bytearray()
    async for chunk in part.content:
        held += chunk
        if len(held) > LIMIT.size:
            raise TooLarge(LIMIT.exceeded("the file"))
    if not held:
        raise FieldsInvalid(file="is invalid: it is empty.")
    return bytes(held)


async def _whole(content: bytes) -> AsyncIterator[bytes]:
    yield content
