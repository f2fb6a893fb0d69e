"""Ending jobs whose runner does not stop them."""

from application.access import ProjectAccess
from application.environments.deploying import require_job
from application.services import Services
from auth.permissions import Action
from domain.pipelines.status import Status
from models.notifications import OUTBOX
from models.repositories.pipelines import verdicts
from models.rows.pipelines import JobFacts


async def end_canceling_job(services: Services, project: ProjectAccess, row: JobFacts) -> str:
    """End a job that is being canceled, without waiting for its runner; maintainers may. Raises `Forbidden`.

    Gives back why there was nothing to do; empty if it was done.
    """
    project.require(Action.ADMINISTER)
    async with services.database.write() as connection:
        await require_job(connection, project, row)
        ended = row.status == Status.CANCELING and await verdicts.end_jobs(
            connection, [row.id], Status.CANCELED, services.clock()
        )
    if not ended:
        return f"Job {row.id} is {row.status}; only a job that is being canceled can be ended by force."
    await services.notifications.notify(OUTBOX)
    return ""
