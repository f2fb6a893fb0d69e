"""Projects: listed, read, changed, and created together with their repository."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from sqlalchemy.ext.asyncio import AsyncConnection

from api.deps import CallerDep, ServicesDep
from api.services import Services
from api.v4.access import KnownCallerDep, ProjectDep
from api.v4.names import PathName, checked_path, path_from
from api.v4.pagination import PagingDep
from api.v4.parameters import given
from api.v4.representation.projects import project as shown
from auth.permissions import MAINTAINER, OWNER, Action, Caller, require_admin
from domain.errors import Forbidden, Invalid, NotFound
from git.names import checked_ref
from models.columns import Record
from models.notifications import RUNNERS
from models.repositories import projects, relations
from models.repositories.listings import ProjectFilter, has_level
from models.repositories.listings import projects as listed
from models.repositories.paging import slice_of

router = APIRouter()


class NewProject(BaseModel):
    """Parameters of `POST /projects`; at least one of `name` and `path`. Without a namespace it is the caller's own."""

    name: str = Field(default="", max_length=255)
    path: PathName | None = None
    namespace_id: int | None = Field(default=None, ge=1, le=2**53)
    organization: str | None = None
    visibility: Literal["private", "public"] = "private"
    default_branch: str = "main"


@router.get("/projects")
async def list_projects(
    caller: CallerDep,
    services: ServicesDep,
    paging: PagingDep,
    search: str = "",
    visibility: str = "",
    membership: bool = False,
    owned: bool = False,
) -> JSONResponse:
    """The projects that the caller may see, newest first."""
    wanted = ProjectFilter(caller.user_id, caller.is_admin, membership or owned, visibility, search)
    async with services.database.read() as connection:
        found = await slice_of(connection, listed(wanted), paging.number, paging.size)
        owners = await relations.organisations(connection, (row.organisation_id for row in found.rows))
    items = [shown(row, owners[row.organisation_id], services.settings.url) for row in found.rows]
    return paging.answer(items, found.total)


@router.get("/projects/{project}")
async def get_project(project: ProjectDep, services: ServicesDep) -> dict[str, Any]:
    """One project."""
    async with services.database.read() as connection:
        owner = await projects.organisation_by(connection, key=project.row.organisation_id)
    return shown(project.row, owner, services.settings.url, project.level)


@router.post("/projects", status_code=201)
async def create_project(
    new: Annotated[NewProject, Depends(given(NewProject))], caller: KnownCallerDep, services: ServicesDep
) -> dict[str, Any]:
    """Create a project with its empty repository. The caller becomes its owner."""
    path = _path_of(new)
    checked_ref(new.default_branch)
    async with services.database.write() as connection:
        owner = await _owner(connection, services, caller, new)
        key = await projects.create_project(
            connection,
            owner,
            path,
            new.name or path,
            caller.user_id,
            services.clock(),
            visibility=new.visibility,
            default_branch=new.default_branch,
        )
        # Inside the transaction: a project without repository must not exist; a folder that is left over harms nobody.
        await services.repositories.create(key, new.default_branch)
        row = await projects.find(connection, key)
    return shown(row, owner, services.settings.url, OWNER)


class ProjectChanges(BaseModel):
    """Parameters of `PUT /projects/:id`; what is not given stays as it is."""

    ci_forward_deployment_enabled: bool | None = None
    auto_cancel_pending_pipelines: Literal["enabled", "disabled"] | None = None
    keep_latest_artifact: bool | None = None
    max_artifacts_size: int | None = Field(default=None, ge=1, le=2**31 - 1)
    shared_runners_enabled: bool | None = None
    group_runners_enabled: bool | None = None

    def columns(self) -> dict[str, bool | int]:
        """The columns to write."""
        mode = self.auto_cancel_pending_pipelines
        wanted = {
            "forward_deployment": self.ci_forward_deployment_enabled,
            "auto_cancel_redundant": None if mode is None else mode == "enabled",
            "keep_latest_artifacts": self.keep_latest_artifact,
            "max_artifacts_size": self.max_artifacts_size,
            "shared_runners_enabled": self.shared_runners_enabled,
            "group_runners_enabled": self.group_runners_enabled,
        }
        return {name: value for name, value in wanted.items() if value is not None}


@router.put("/projects/{project}")
async def change_project(
    changes: Annotated[ProjectChanges, Depends(given(ProjectChanges))], project: ProjectDep, services: ServicesDep
) -> dict[str, Any]:
    """Change how the pipelines of a project treat older ones, what it keeps, and whose runners take its jobs.

    Only maintainers may. How large an artifact may be (`max_artifacts_size`, in MiB) is for administrators to say.
    """
    project.require(Action.ADMINISTER)
    values = changes.columns()
    if "max_artifacts_size" in values:
        require_admin(project.caller)
    async with services.database.write() as connection:
        if values:
            await projects.change(connection, project.row.id, **values)
        row = await projects.find(connection, project.row.id)
        owner = await projects.organisation_by(connection, key=project.row.organisation_id)
    await services.notifications.tell(RUNNERS)
    return shown(row, owner, services.settings.url, project.level)


def _path_of(new: NewProject) -> str:
    path = new.path or path_from(new.name)
    try:
        return checked_path(path)
    except ValueError as error:
        raise Invalid("name is missing, path is missing" if not path else f"path is invalid: {error}") from error


async def _owner(connection: AsyncConnection, services: Services, caller: Caller, new: NewProject) -> Record:
    """The organisation of a new project. Raises `Forbidden` for one in which the caller maintains nothing."""
    own = new.namespace_id is None and new.organization is None
    path = caller.username if own else new.organization
    try:
        owner = await projects.organisation_by(
            connection, path=None if new.namespace_id else path, key=new.namespace_id
        )
    except NotFound:
        if not own:
            raise
        await projects.create_organisation(connection, caller.username, caller.username, services.clock())
        return await projects.organisation_by(connection, path=caller.username)
    if caller.is_admin or await has_level(connection, caller.user_id, owner.id, MAINTAINER):
        return owner
    raise Forbidden(f"403 Forbidden: you maintain no project of {owner.path}; ask an administrator to create this one.")
