"""Removing a project: its rows, its repository, and, as time permits, its objects in the store."""

import structlog

from api.audit import record
from api.deps import ProjectAccess
from api.services import Services
from domain.errors import Refused
from models.notifications import RUNNERS
from models.repositories import project_removal
from models.repositories.audit import Happened

log = structlog.get_logger()


async def remove(services: Services, project: ProjectAccess) -> None:
    """Remove all of a project. Raises `Refused` while pipelines of it run."""
    async with services.database.write() as connection:
        running = await project_removal.unfinished(connection, project.row.id)
        if running:
            raise Refused(f"409 Conflict: {running} pipelines of {project.row.full_path} have not ended; cancel them.")
        await record(connection, project.caller, project.entity, Happened("project_removed"), services.clock())
        await project_removal.remove(connection, project.row.id)
    # After the commit: without its rows nobody finds the folder; one that is left over by a crash harms nobody.
    await services.repositories.remove(project.row.id)
    await services.notifications.tell(RUNNERS)
    log.info("a project was removed", project=project.row.full_path, by=project.caller.username)
