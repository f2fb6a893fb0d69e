"""Who may read the artifacts of a job: `artifacts:access` (docs/reference/ci-yaml.md, "Artifacts")."""

from collections.abc import Mapping
from typing import Final

from api.services import Services
from application.access import ProjectAccess
from auth.permissions import Action
from domain.errors import Forbidden, NotFound, Unauthenticated
from models.repositories.artifacts import artifacts
from models.rows.artifacts import ArtifactRow

_NEEDS: Final[Mapping[str, Action]] = {
    "all": Action.READ,
    "developer": Action.RUN,
    "maintainer": Action.ADMINISTER,
}
"""What one must be able to do in the project; `none` is for nobody but later jobs."""


def require_access(project: ProjectAccess, access: str) -> None:
    """Raise unless the caller may read artifacts of this `access`."""
    if access not in _NEEDS:
        raise Forbidden("Forbidden: the job keeps its artifacts for other jobs only (artifacts:access: none).")
    project.require(_NEEDS[access])


def may_read(project: ProjectAccess, access: str) -> bool:
    """Whether the caller may read artifacts of this `access`."""
    try:
        require_access(project, access)
    except (Forbidden, Unauthenticated):
        return False
    return True


async def readable_archive(services: Services, project: ProjectAccess, job_id: int) -> ArtifactRow:
    """The archive of a job, for the caller. Raises `NotFound` where there is none (any more), `Forbidden`."""
    async with services.database.read() as connection:
        row = await artifacts.available(connection, job_id, artifacts.ARCHIVE)
    if row is None:
        raise NotFound("Not Found")
    require_access(project, row.access)
    return row
