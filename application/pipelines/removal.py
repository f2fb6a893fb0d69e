"""Removing one pipeline: its rows, the ref that holds its commit, and, as time permits, its objects in the store."""

from contextlib import suppress

import structlog

from application.access import ProjectAccess
from application.audit import record
from application.services import Services
from domain.errors import NotFound, Refused, Unavailable
from git.transport.snapshot import forget_pipelines
from models.repositories.installation.audit import Happened
from models.repositories.pipelines import pipeline_removal
from models.rows.pipelines import PipelineRow

log = structlog.get_logger()


async def remove(services: Services, project: ProjectAccess, row: PipelineRow) -> None:
    """Remove a pipeline. Raises `Refused` while it has not ended."""
    async with services.database.write(is_long=True) as connection:
        if not await pipeline_removal.remove_ended(connection, row.id):
            raise Refused(f"Conflict: pipeline {row.id} is {row.status}; cancel it first.")
        happened = Happened("pipeline_removed", {"pipeline": row.id, "ref": row.ref, "sha": row.sha})
        await record(connection, project.caller, project.entity, happened, services.clock())
    with suppress(NotFound, Unavailable):  # what is left goes at the next start
        await forget_pipelines(services.repositories.get(project.row.id), [row.id])
    log.info("a pipeline was removed", pipeline=row.id, by=project.caller.username)
