"""Files that people put beside a project: kept, listed, fetched, removed.

Source: GitLab: "Project Markdown uploads API".
"""

from secrets import token_hex
from typing import Any, Final
from urllib.parse import quote

from fastapi import Request, Response
from fastapi.responses import JSONResponse
from typing_extensions import TypedDict

from api.deps import ServicesDep
from api.routes import RouteList
from api.runner.multipart import FilePart, file_part
from api.services import Services
from api.stored_file import stored_file
from api.uploads import give_up
from api.v4.access import Id, KnownCallerDep, ProjectDep
from api.v4.pagination import PagingDep
from application.access import ProjectAccess
from application.audit import record
from auth.permissions import Action
from domain.errors import NotFound, TooLarge, Unavailable
from domain.moments import moment
from domain.object_keys import upload_key
from domain.projects.upload_names import SECRET, SECRET_BYTES, in_markdown, upload_name
from domain.size_limits import of_installation
from models.repositories.artifacts import unused_objects
from models.repositories.installation.audit import Happened
from models.repositories.paging import slice_of
from models.repositories.projects import relations, uploads
from models.rows.accounts import UserRow
from models.rows.uploads import ProjectUploadRow
from storage.objects import Stored

router = RouteList(prefix="/projects/{project}/uploads")

MEDIA_TYPE: Final = "application/octet-stream"
_FORM: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"file": {"type": "string", "format": "binary"}},
    "required": ["file"],
}
_BODY: Final = {"requestBody": {"required": True, "content": {"multipart/form-data": {"schema": _FORM}}}}


class NewUploadResponse(TypedDict):
    """A file that was just kept: where it is, and how Markdown of the project names it."""

    id: int
    alt: str
    url: str
    full_path: str
    markdown: str


class UploaderResponse(TypedDict):
    """Who has brought a file."""

    id: int
    name: str
    username: str


class UploadResponse(TypedDict):
    """A file in the list of a project."""

    id: int
    size: int
    filename: str
    created_at: str
    uploaded_by: UploaderResponse | None


@router.post("", status_code=201, openapi_extra=_BODY)
async def create_upload(
    request: Request, project: ProjectDep, caller: KnownCallerDep, services: ServicesDep
) -> NewUploadResponse:
    """Keep a file beside a project; developers may."""
    project.require(Action.PUSH)
    key = upload_key(project.row.id, token_hex(SECRET_BYTES))
    async with services.database.write() as connection:
        await unused_objects.announce(connection, key)
    try:
        part = await file_part(request)
        name = upload_name(part.filename or "")
        row = await _keep(services, project, caller.user_id, name, key, await _put(services, key, part))
    except BaseException:
        await give_up(services, key)
        raise
    short = f"/uploads/{row.secret}/{quote(row.filename)}"
    alt, markdown = in_markdown(row.filename, short)
    full = f"/-/project/{project.row.id}{short}"
    return {"id": row.id, "alt": alt, "url": short, "full_path": full, "markdown": markdown}


@router.get("", response_model=list[UploadResponse])
async def list_uploads(project: ProjectDep, services: ServicesDep, paging: PagingDep) -> JSONResponse:
    """The files beside a project, the newest first; maintainers may."""
    project.require(Action.ADMINISTER)
    async with services.database.read() as connection:
        found = await slice_of(connection, uploads.of_project(project.row.id), paging.number, paging.size)
        people = await relations.users(connection, (row.user_id for row in found.rows))
    return paging.response([_shown(row, people.get(row.user_id)) for row in found.rows], found.total)


@router.get("/{upload_id}")
async def download_upload(upload_id: Id, request: Request, project: ProjectDep, services: ServicesDep) -> Response:
    """A file by its id; maintainers may."""
    project.require(Action.ADMINISTER)
    async with services.database.read() as connection:
        row = await uploads.get(connection, project.row.id, upload_id)
    return await stored_file(services.store, row, MEDIA_TYPE, request.headers.get("range", ""))


@router.get("/{secret}/{filename}")
async def download_named_upload(
    secret: str, filename: str, request: Request, project: ProjectDep, services: ServicesDep
) -> Response:
    """A file by what its address ends with; whoever may read the project may."""
    row = await upload_of_address(services, project, secret, filename)
    return await stored_file(services.store, row, MEDIA_TYPE, request.headers.get("range", ""))


@router.delete("/{upload_id}", status_code=204)
async def remove_upload(upload_id: Id, project: ProjectDep, services: ServicesDep) -> Response:
    """Remove a file by its id; maintainers may."""
    project.require(Action.ADMINISTER)
    async with services.database.write() as connection:
        await _remove(services, project, connection, await uploads.get(connection, project.row.id, upload_id))
    return Response(status_code=204)


@router.delete("/{secret}/{filename}", status_code=204)
async def remove_named_upload(secret: str, filename: str, project: ProjectDep, services: ServicesDep) -> Response:
    """Remove a file by what its address ends with; maintainers may."""
    project.require(Action.ADMINISTER)
    row = await upload_of_address(services, project, secret, filename)
    async with services.database.write() as connection:
        await _remove(services, project, connection, row)
    return Response(status_code=204)


async def upload_of_address(services: Services, project: ProjectAccess, secret: str, filename: str) -> ProjectUploadRow:
    """The file that an address of a project ends with. Raises `NotFound`."""
    if not SECRET.fullmatch(secret):
        raise NotFound("Upload Not Found")
    async with services.database.read() as connection:
        return await uploads.named(connection, project.row.id, secret, filename)


def _shown(row: ProjectUploadRow, user: UserRow | None) -> UploadResponse:
    by: UploaderResponse | None = (
        None if user is None else {"id": user.id, "name": user.name, "username": user.username}
    )
    made = moment(row.created_at)
    return {"id": row.id, "size": row.size, "filename": row.filename, "created_at": made, "uploaded_by": by}


async def _put(services: Services, key: str, part: FilePart) -> Stored:
    """Store a file. Raises `TooLarge`, `StorageFull`, `Unavailable`."""
    limit = of_installation("PERDURE_UPLOAD_BYTES", services.settings.sizes.upload_bytes)
    try:
        return await services.store.put(key, part.content, limit.size, limit.set_by)
    except TooLarge as error:
        raise TooLarge(limit.exceeded("the file")) from error


async def _keep(
    services: Services, project: ProjectAccess, user_id: int, name: str, key: str, stored: Stored
) -> ProjectUploadRow:
    now = services.clock()
    async with services.database.write() as connection:
        if not await unused_objects.take_up(connection, key):
            raise Unavailable("The upload took more than a day; begin again.")
        values = {"size": stored.size, "sha256": stored.sha256, "object_key": key}
        whose = {"project_id": project.row.id, "user_id": user_id}
        return await uploads.add(connection, now, secret=token_hex(SECRET_BYTES), filename=name, **whose, **values)


async def _remove(services: Services, project: ProjectAccess, connection: Any, row: ProjectUploadRow) -> None:
    await uploads.remove(connection, row)
    happened = Happened("upload_removed", {"id": row.id, "name": row.filename})
    await record(connection, project.caller, project.entity, happened, services.clock())
