"""Which archive a page of artifacts is about, and how its addresses are written."""

from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from api.services import Services
from api.v4.jobs.artifact_access import require_access
from application.access import ProjectAccess
from domain.errors import NotFound
from models.repositories.artifacts import artifacts
from models.repositories.pipelines import jobs
from models.rows.artifacts import ArtifactRow
from models.rows.pipelines import ListedJobRow
from storage.archive import Archive

MAX_ADDRESS: Final = 4_000
"""Characters of a path within an archive, encoded, that an address can carry through every front."""

_NONE: Final = "This job has no artifacts to look into."
_GONE: Final = "The artifacts of this job have expired or were deleted; run the job again to have them once more."


@dataclass(frozen=True, slots=True)
class JobArchive:
    """The archive of a job, which the caller may read."""

    job: ListedJobRow
    row: ArtifactRow
    address: str
    """That of the job's artifacts: `/group/project/-/jobs/7/artifacts`."""

    def of(self, view: str, path: str = "") -> str:
        """The address of a view (`browse`, `file`, `raw`) of a folder or file; empty for one that is too long."""
        written = quote(path)
        return "" if len(written) > MAX_ADDRESS else f"{self.address}/{view}{'/' if written else ''}{written}"


async def archive_of_job(services: Services, project: ProjectAccess, job_id: int) -> JobArchive:
    """The archive of a job. Raises `NotFound` with what became of it, `Forbidden`."""
    async with services.database.read() as connection:
        job = await jobs.get(connection, job_id, project.row.id)
        row = await artifacts.available(connection, job_id, artifacts.ARCHIVE)
        known = row or await artifacts.find(connection, job_id, artifacts.ARCHIVE)
    if known is None:
        raise NotFound(_NONE)
    require_access(project, known.access)
    if row is None:
        raise NotFound(_GONE)
    return JobArchive(job, row, f"/{quote(project.row.full_path)}/-/jobs/{job_id}/artifacts")


async def opened(services: Services, found: JobArchive) -> Archive:
    """The list of an archive. Raises `Invalid` or `TooLarge` for a broken or hostile one."""
    return await services.archives.open(services.store, found.row.object_key)
