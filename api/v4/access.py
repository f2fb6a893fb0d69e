"""What the routes of the REST API name in their paths: projects, pipelines, jobs."""

from dataclasses import dataclass
from typing import Annotated, Final

from fastapi import Depends, Path

from api.deps import CallerDep, ServicesDep
from api.v4.encoded_paths import decoded
from application.access import ProjectAccess, access_to
from auth.permissions import Action, Caller
from domain.decimal_number import decimal_number
from domain.errors import NotFound, Unauthenticated
from models.repositories.pipelines import jobs, pipelines
from models.rows.pipelines import ListedJobRow, PipelineRow

MAX_ID: Final = 2**53

Id = Annotated[int, Path(ge=1, le=MAX_ID)]


async def project_of(project: str, services: ServicesDep, caller: CallerDep) -> ProjectAccess:
    """The project of a path: by id, or by its full path in one segment. Raises `NotFound`, `Forbidden`."""
    return await _project(project, services, caller, Action.READ)


async def seen_project_of(project: str, services: ServicesDep, caller: CallerDep) -> ProjectAccess:
    """The same for what guests may do, too. Raises `NotFound`."""
    return await _project(project, services, caller, Action.SEE)


async def _project(project: str, services: ServicesDep, caller: CallerDep, least: Action) -> ProjectAccess:
    reference = decoded(project)
    if reference.isdigit() and decimal_number(reference) is None:
        raise NotFound("Project Not Found")
    return await access_to(services, caller, reference, least)


ProjectDep = Annotated[ProjectAccess, Depends(project_of)]
SeenProjectDep = Annotated[ProjectAccess, Depends(seen_project_of)]


@dataclass(frozen=True, slots=True)
class PipelineAccess:
    """A pipeline of a project that the caller may read."""

    row: PipelineRow
    project: ProjectAccess


async def pipeline_of(pipeline_id: Id, project: ProjectDep, services: ServicesDep) -> PipelineAccess:
    """The pipeline of a path. Raises `NotFound`."""
    async with services.database.read() as connection:
        return PipelineAccess(await pipelines.get(connection, pipeline_id, project.row.id), project)


PipelineDep = Annotated[PipelineAccess, Depends(pipeline_of)]


@dataclass(frozen=True, slots=True)
class JobAccess:
    """A job of a project that the caller may read."""

    row: ListedJobRow
    project: ProjectAccess


async def job_of(job_id: Id, project: ProjectDep, services: ServicesDep) -> JobAccess:
    """The job of a path. Raises `NotFound`."""
    async with services.database.read() as connection:
        return JobAccess(await jobs.get(connection, job_id, project.row.id), project)


JobDep = Annotated[JobAccess, Depends(job_of)]


async def known_caller(caller: CallerDep) -> Caller:
    """The caller, who must have shown who they are. Raises `Unauthenticated`."""
    if not caller.is_known:
        raise Unauthenticated("Unauthorized")
    return caller


KnownCallerDep = Annotated[Caller, Depends(known_caller)]
