"""Artifacts by ref and name of the job, and all artifacts of a project at once."""

from fastapi import Request, Response
from fastapi.responses import JSONResponse
from typing_extensions import TypedDict

from api.deps import ServicesDep
from api.routes import RouteList
from api.stored_file import stored_file
from api.v4.access import ProjectDep
from api.v4.encoded_paths import decoded
from api.v4.jobs.artifact_access import readable_archive
from api.v4.jobs.artifacts import ZIP, file_of
from application.pipelines.refs import ref_of_pipelines
from auth.permissions import Action
from domain.errors import NotFound
from models.repositories.artifacts import artifacts
from models.repositories.artifacts.foreign_archives import of_project

router = RouteList(prefix="/projects/{project}")


@router.get("/jobs/artifacts/{place:path}")
async def get_artifacts_of_ref(
    place: str, job: str, project: ProjectDep, request: Request, services: ServicesDep
) -> Response:
    """`:ref/download`, or `:ref/raw/*path`: of the job in the latest successful pipeline of the ref.

    A ref with slashes may be written as one segment or as it is; then the first `/raw/` ends it.
    """
    ref, is_raw, path = place.partition("/raw/")
    if not is_raw:
        ref, _, last = place.rpartition("/")
        if last != "download":
            raise NotFound("Not Found")
    meant = await ref_of_pipelines(services.repositories, project.row.id, decoded(ref))
    async with services.database.read() as connection:
        found = await of_project(connection, project.row.id, *meant, job)
    if found is None:
        raise NotFound("Not Found")
    row = await readable_archive(services, project, found.id)
    if is_raw:
        return await file_of(services, row, decoded(path))
    return await stored_file(services.store, row, ZIP, request.headers.get("range", ""))


class ExpiringResponse(TypedDict):
    """That the artifacts are being removed."""

    message: str


@router.delete("/artifacts", status_code=202, response_model=ExpiringResponse)
async def delete_artifacts_of_project(project: ProjectDep, services: ServicesDep) -> JSONResponse:
    """Let all artifacts expire, in many short transactions; the latest of each ref stay if the project keeps them."""
    project.require(Action.ADMINISTER)
    is_more = True
    while is_more:
        async with services.database.write() as connection:
            is_more = await artifacts.expire_some(connection, project.row.id)
    return JSONResponse({"message": "202 Accepted"}, 202)
