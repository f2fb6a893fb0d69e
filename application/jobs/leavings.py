"""What a job leaves behind: erased, kept for ever, deleted, by whoever may; for every door."""

from sqlalchemy.ext.asyncio import AsyncConnection

from application.access import ProjectAccess
from application.audit import record
from application.environments.deploying import require_job
from application.services import Services
from auth.permissions import Action
from domain.errors import Forbidden, NotFound, Refused
from domain.pipelines.status import COMPLETE
from models.repositories.artifacts import artifacts, job_objects, reports
from models.repositories.installation.audit import Happened
from models.rows.pipelines import JobFacts


def is_erasable(row: JobFacts) -> bool:
    """Whether a job has ended and left what can be erased."""
    return row.status in COMPLETE and not row.bridge and row.erased_at is None


def require_erase(project: ProjectAccess, row: JobFacts) -> None:
    """Raise unless the caller may erase what a job left: its own user may, and who administers the project."""
    if row.user_id != project.caller.user_id:
        project.require(Action.ADMINISTER)
    project.require(Action.RUN)
    if not is_erasable(row):
        raise Forbidden("Forbidden - Job is not erasable!")


async def erase(services: Services, project: ProjectAccess, row: JobFacts) -> None:
    """Forget the log, the artifacts and the reports of a job that has ended. Raises `Forbidden`."""
    require_erase(project, row)
    now = services.clock()
    async with services.database.write() as connection:
        await require_job(connection, project, row)
        await job_objects.erase(connection, row.id, now)
        happened = Happened("job_erased", {"job": row.id, "name": row.name})
        await record(connection, project.caller, project.entity, happened, now)


async def keep_artifacts(services: Services, project: ProjectAccess, row: JobFacts) -> None:
    """Keep the artifacts of a job for ever. Raises `NotFound` where there are none, `Forbidden`."""
    async with services.database.write() as connection:
        await require_job(connection, project, row)
        await _require_artifacts(connection, row.id)
        await artifacts.keep(connection, row.id)


async def _require_artifacts(connection: AsyncConnection, job_id: int) -> None:
    if not await artifacts.of_jobs(connection, [job_id]):
        raise NotFound("Not Found")


async def delete_artifacts(services: Services, project: ProjectAccess, row: JobFacts) -> None:
    """Delete the artifacts of a job that has ended, and what its reports said. Raises `Refused`, `Forbidden`."""
    project.require(Action.ADMINISTER)
    if row.status not in COMPLETE:
        raise Refused(f"The job is {row.status}; its artifacts can be deleted when it has ended.")
    async with services.database.write() as connection:
        await require_job(connection, project, row)
        await artifacts.remove(connection, await artifacts.of_jobs(connection, [row.id]))
        await reports.remove(connection, row.id)
