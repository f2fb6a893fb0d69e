"""Projects: listed, read, changed, and created together with their repository."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from fastapi import Depends, Query
from fastapi.responses import JSONResponse
from pydantic import BaseModel, BeforeValidator, Field
from sqlalchemy.ext.asyncio import AsyncConnection

from api.deps import CallerDep, ServicesDep
from api.routes import RouteList
from api.services import Services
from api.v4.access import KnownCallerDep, ProjectDep, SeenProjectDep
from api.v4.encoded_paths import decoded
from api.v4.names import PathName
from api.v4.namespaces.groups import Visibility
from api.v4.pagination import PagingDep
from api.v4.parameters import given
from api.v4.projects.documents import documents, project_page, project_row
from api.v4.representation.projects import PendingRemovalResponse, ProjectResponse
from api.v4.without_effect import NEW_PROJECT, PROJECT
from application.access import ProjectAccess, viewer_of
from application.audit import record
from application.projects import removal
from application.projects.creation import NewProjectFacts, create, namespace_for
from auth.permissions import OWNER, Action, Caller, require_admin
from domain.errors import FieldsInvalid, ParametersInvalid
from domain.merge_requests.merge_request import MergeMethod, SquashOption
from domain.projects.config_place import config_place
from domain.projects.path_names import checked_path, path_from
from git.names import checked_branch
from models.notifications import RUNNERS
from models.repositories.installation.audit import Happened
from models.repositories.projects import projects
from models.repositories.projects.listings import ProjectFilter
from models.repositories.projects.listings import projects as listed

_DAY: Final = 86_400
_YEAR: Final = 365 * _DAY

router = RouteList()


def _commits_or_all(value: object) -> object:
    """How many commits are fetched; an empty text is null, which is all of them."""
    return None if value == "" else value


GitDepth = Annotated[Annotated[int, Field(ge=0, le=1000)] | None, BeforeValidator(_commits_or_all)]
GitStrategy = Literal["fetch", "clone"]


def _seconds_or_never(value: object) -> int:
    """A policy of a day at least and a year at most; 0 for nothing, which is never. Raises `ValueError`."""
    if value in {None, "", 0, "0"}:
        return 0
    try:
        seconds = int(str(value))
    except ValueError as error:
        raise ValueError("it must be a number of seconds") from error
    if not _DAY <= seconds <= _YEAR:
        raise ValueError(f"it must be between a day ({_DAY}) and a year ({_YEAR})")
    return seconds


class ProjectSettings(BaseModel):
    """What a project may be given when it is made, and later; what is not given stays as it is."""

    name: str | None = Field(default=None, min_length=1, max_length=255)
    description: str | None = Field(default=None, max_length=2000)
    visibility: Visibility | None = None
    default_branch: str | None = Field(default=None, min_length=1, max_length=255)
    build_timeout: int | None = Field(default=None, ge=600, le=2_592_000)
    ci_config_path: str | None = Field(default=None, max_length=255)
    auto_devops_enabled: bool | None = None
    ci_forward_deployment_enabled: bool | None = None
    auto_cancel_pending_pipelines: Literal["enabled", "disabled"] | None = None
    keep_latest_artifact: bool | None = None
    max_artifacts_size: int | None = Field(default=None, ge=1, le=2**31 - 1)
    ci_delete_pipelines_in_seconds: Annotated[int | None, BeforeValidator(_seconds_or_never)] = Field(default=None)
    shared_runners_enabled: bool | None = None
    group_runners_enabled: bool | None = None
    may_run_as_server: bool | None = None
    merge_method: MergeMethod | None = None
    squash_option: SquashOption | None = None
    only_allow_merge_if_pipeline_succeeds: bool | None = None
    allow_merge_on_skipped_pipeline: bool | None = None
    only_allow_merge_if_all_discussions_are_resolved: bool | None = None
    remove_source_branch_after_merge: bool | None = None
    merge_pipelines_enabled: bool | None = None
    merge_trains_enabled: bool | None = None
    approvals_before_merge: int | None = Field(default=None, ge=0, le=100)
    ci_default_git_depth: GitDepth = None
    build_git_strategy: GitStrategy | None = None

    def columns(self) -> dict[str, Any]:
        """The columns to write; null means something for `ci_default_git_depth` alone."""
        mode, strategy = self.auto_cancel_pending_pipelines, self.build_git_strategy
        wanted = {
            "name": self.name,
            "description": self.description,
            "visibility": self.visibility,
            "default_branch": self.default_branch,
            "timeout": self.build_timeout,
            "config_path": self.ci_config_path,
            "auto_devops_enabled": self.auto_devops_enabled,
            "forward_deployment": self.ci_forward_deployment_enabled,
            "auto_cancel_redundant": None if mode is None else mode == "enabled",
            "keep_latest_artifacts": self.keep_latest_artifact,
            "max_artifacts_size": self.max_artifacts_size,
            "ci_delete_pipelines_in_seconds": self.ci_delete_pipelines_in_seconds,
            "shared_runners_enabled": self.shared_runners_enabled,
            "group_runners_enabled": self.group_runners_enabled,
            "may_run_as_server": self.may_run_as_server,
            "merge_method": self.merge_method,
            "squash_option": self.squash_option,
            "only_merge_if_pipeline_succeeds": self.only_allow_merge_if_pipeline_succeeds,
            "allow_merge_on_skipped_pipeline": self.allow_merge_on_skipped_pipeline,
            "only_merge_if_resolved": self.only_allow_merge_if_all_discussions_are_resolved,
            "remove_source_branch_after_merge": self.remove_source_branch_after_merge,
            "merge_pipelines_enabled": self.merge_pipelines_enabled,
            "merge_trains_enabled": self.merge_trains_enabled,
            "approvals_required": self.approvals_before_merge,
            "git_fetch": None if strategy is None else strategy == "fetch",
        }
        said: dict[str, Any] = {name: value for name, value in wanted.items() if value is not None}
        return said | (
            {"git_depth": self.ci_default_git_depth} if "ci_default_git_depth" in self.model_fields_set else {}
        )


class NewProject(ProjectSettings):
    """Parameters of `POST /projects`; at least one of `name` and `path`. Without a namespace it is the caller's own."""

    path: PathName | None = None
    namespace_id: int | None = Field(default=None, ge=1, le=2**53)
    organization: str | None = None
    initialize_with_readme: bool | None = None


class ProjectChanges(ProjectSettings):
    """Parameters of `PUT /projects/:id`."""

    path: PathName | None = None


_OF_ADMINISTRATORS: Final = frozenset({"max_artifacts_size", "may_run_as_server"})


@router.get("/projects", response_model=list[ProjectResponse])
async def list_projects(
    caller: CallerDep,
    services: ServicesDep,
    paging: PagingDep,
    search: str = "",
    visibility: str = "",
    membership: bool = False,
    owned: bool = False,
    min_access_level: Annotated[int, Query(ge=0, le=50)] = 0,
    archived: bool | None = None,
    starred: bool = False,
    statistics: bool = False,
) -> JSONResponse:
    """The projects that the caller may see, newest first; with `statistics`, their own with their sizes."""
    wanted = ProjectFilter(
        viewer_of(caller),
        membership,
        visibility,
        search,
        least_level=OWNER if owned else min_access_level,
        archived=archived,
        starred_by=caller.user_id if starred else None,
    )
    return await project_page(services, caller, listed(wanted), paging, statistics=statistics)


@router.get("/projects/{project}")
async def get_project(project: SeenProjectDep, services: ServicesDep, statistics: bool = False) -> ProjectResponse:
    """One project; with `statistics`, which members from reporters on may see, what it takes in bytes."""
    async with services.database.read() as connection:
        return await project_document(connection, services, project, statistics=statistics)


@router.post("/projects", status_code=201)
async def create_project(
    new: Annotated[NewProject, Depends(given(NewProject, without_effect=NEW_PROJECT))],
    caller: KnownCallerDep,
    services: ServicesDep,
) -> ProjectResponse:
    """Create a project, with an empty repository unless `initialize_with_readme`. The caller becomes its owner."""
    path = _path_of(new)
    settings = new.columns()
    _check(settings, caller)
    reference = (
        str(new.namespace_id) if new.namespace_id is not None else new.organization and decoded(new.organization)
    )
    facts = NewProjectFacts(
        path=path,
        name=settings.pop("name", path),
        visibility=settings.pop("visibility", "private"),
        default_branch=checked_branch(settings.pop("default_branch", "main")),
        settings=settings,
        readme=bool(new.initialize_with_readme),
    )
    key = await create(services, caller, await namespace_for(services, caller, reference), facts)
    async with services.database.read() as connection:
        row = await project_row(connection, key)
        (document,) = await documents(services, connection, caller, [row], level=OWNER)
    return document


def _check(values: Mapping[str, Any], caller: Caller, *, merges_results: bool = False) -> None:
    """Raise unless the columns fit together and are the caller's to write.

    `merges_results`: so far there are pipelines for merged results.
    """
    config_place(values.get("config_path", ""))
    if _OF_ADMINISTRATORS & set(values):
        require_admin(caller)
    if values.get("merge_trains_enabled") and not values.get("merge_pipelines_enabled", merges_results):
        raise FieldsInvalid(merge_trains_enabled="is invalid: merge trains need merge_pipelines_enabled.")


@router.put("/projects/{project}")
async def change_project(
    changes: Annotated[ProjectChanges, Depends(given(ProjectChanges, without_effect=PROJECT))],
    project: ProjectDep,
    services: ServicesDep,
) -> ProjectResponse:
    """Change what a project is called, who sees it, how its pipelines treat older ones, whose runners take its jobs.

    Only maintainers may; who sees it, and when old pipelines go, is for owners to say. How large an artifact
    may be (`max_artifacts_size`, in MiB), and whether its jobs may run as the server's own user although others have
    accounts (`may_run_as_server`), is for administrators to say.
    """
    project.require(Action.ADMINISTER)
    if changes.path not in {None, project.row.path}:
        raise FieldsInvalid(path="cannot be changed; make a project with the path that you want, and push into it")
    values = changes.columns()
    _check(values, project.caller, merges_results=project.row.merge_pipelines_enabled)
    if {"visibility", "ci_delete_pipelines_in_seconds"} & set(values):
        project.require(Action.OWN)
    if changes.default_branch is not None:
        await _set_default_branch(services, project, changes.default_branch)
    async with services.database.write() as connection:
        if values:
            await projects.change(connection, project.row.id, **values)
            happened = Happened("project_changed", values)
            await record(connection, project.caller, project.entity, happened, services.clock())
        response = await project_document(connection, services, project)
    await services.notifications.tell(RUNNERS)
    return response


async def _set_default_branch(services: Services, project: ProjectAccess, branch: str) -> None:
    """Point HEAD at a branch that is there. Raises `Invalid`."""
    repository = services.repositories.get(project.row.id)
    if await repository.resolve(f"refs/heads/{checked_branch(branch)}") is None and await repository.branches():
        raise FieldsInvalid(base=f"Could not set the default branch: there is no branch {branch}.")
    await repository.set_default_branch(branch)


@router.delete("/projects/{project}", status_code=202)
async def remove_project(project: ProjectDep, services: ServicesDep) -> PendingRemovalResponse:
    """Remove a project with all that belongs to it, its repository too; its owners may. What runs is canceled first."""
    project.require(Action.OWN)
    await removal.remove(services, project)
    return {"message": "202 Accepted"}


@router.post("/projects/{project}/archive", status_code=201)
async def archive_project(project: ProjectDep, services: ServicesDep) -> ProjectResponse:
    """Let nothing of a project change any more: no pushes, no pipelines; its owners may."""
    return await _archived(project, services, archived=True)


@router.post("/projects/{project}/unarchive", status_code=201)
async def unarchive_project(project: ProjectDep, services: ServicesDep) -> ProjectResponse:
    """Let a project change again; its owners may."""
    return await _archived(project, services, archived=False)


async def _archived(project: ProjectAccess, services: Services, *, archived: bool) -> ProjectResponse:
    project.require(Action.OWN)
    name = "project_archived" if archived else "project_unarchived"
    async with services.database.write() as connection:
        await projects.change(connection, project.row.id, archived=archived)
        await record(connection, project.caller, project.entity, Happened(name), services.clock())
        return await project_document(connection, services, project)


async def project_document(
    connection: AsyncConnection, services: Services, project: ProjectAccess, *, statistics: bool = False
) -> ProjectResponse:
    """A project as it is now. Raises `NotFound`."""
    row = await project_row(connection, project.row.id)
    found = await documents(services, connection, project.caller, [row], level=project.level, statistics=statistics)
    return found[0]


def _path_of(new: NewProject) -> str:
    path = new.path or path_from(new.name or "")
    try:
        return checked_path(path)
    except ValueError as error:
        if not path:
            raise ParametersInvalid("name, path are missing, at least one parameter must be provided") from error
        raise FieldsInvalid(path=f"is invalid: {error}") from error
