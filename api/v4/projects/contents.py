"""What a project is written in, and where it is kept."""

from typing_extensions import TypedDict

from api.deps import ServicesDep
from api.routes import RouteList
from api.v4.access import ProjectDep
from auth.permissions import require_admin
from domain.errors import NotFound
from domain.moments import moment
from git.reading.languages import shares_of
from git.reading.revision import commit_named

router = RouteList(prefix="/projects/{project}")


class StorageResponse(TypedDict):
    """Where a repository is."""

    project_id: int
    disk_path: str
    created_at: str
    repository_storage: str


@router.get("/languages")
async def languages_of_project(project: ProjectDep, services: ServicesDep) -> dict[str, float]:
    """The languages of the default branch, each with its share of their bytes in percent."""
    try:
        repository = services.repositories.get(project.row.id)
    except NotFound:
        return {}
    sha = await commit_named(repository, f"refs/heads/{project.row.default_branch}")
    return {} if sha is None else await shares_of(repository, sha)


@router.get("/storage")
async def storage_of_project(project: ProjectDep, services: ServicesDep) -> StorageResponse:
    """Where the repository is; for administrators."""
    require_admin(project.caller)
    path = services.repositories.path(project.row.id)
    return {
        "project_id": project.row.id,
        "disk_path": path.name,
        "created_at": moment(project.row.created_at),
        "repository_storage": services.settings.pod,
    }
