"""Removing projects and groups: their rows, their repositories, and, as time permits, their objects in the store.

What has pipelines that have not ended is marked, which nobody undoes, and `loops.removals` goes on with it.
"""

from collections.abc import Sequence

import structlog
from sqlalchemy.ext.asyncio import AsyncConnection

from application.access import ProjectAccess
from application.audit import record
from application.services import Services
from auth.permissions import Caller
from domain.errors import Refused
from models.notifications import OUTBOX, RUNNERS
from models.repositories.installation.audit import Entity, Happened
from models.repositories.namespaces import group_removal
from models.repositories.projects import project_removal
from models.repositories.projects.project_removal import Removed
from models.rows.namespaces import NamespaceRow

log = structlog.get_logger()


async def remove(services: Services, project: ProjectAccess) -> None:
    """Remove all of a project, at once if its pipelines have ended; else they are canceled first.

    GitLab: "Projects API", "Delete a project"; it cancels them, too.
    """
    now = services.clock()
    async with services.database.write(is_long=True) as connection:
        await record(connection, project.caller, project.entity, Happened("project_removed"), now)
        marked = await project_removal.mark_one(connection, project.row.id, now)
        gone = await _remove_or_cancel(services, connection, marked)
    await _forget(services, gone)
    log.info("a project is removed", project=project.row.full_path, by=project.caller.username, at_once=bool(gone))


async def remove_group(services: Services, caller: Caller, row: NamespaceRow) -> None:
    """Remove a group with all that is in it, in the same way. Raises `Refused` for somebody's own namespace."""
    if row.kind == "user":
        raise Refused(f"Conflict: {row.full_path} is somebody's own namespace; remove its projects instead.")
    now = services.clock()
    async with services.database.write(is_long=True) as connection:
        await record(connection, caller, Entity("group", row.id, row.full_path), Happened("group_removed"), now)
        marked = await group_removal.mark(connection, row, now)
        gone = await _remove_or_cancel(services, connection, marked)
        await group_removal.remove_empty(connection)
    await _forget(services, gone)
    log.info("a group is removed", group=row.full_path, by=caller.username, projects=len(marked))


async def _remove_or_cancel(services: Services, connection: AsyncConnection, marked: Sequence[int]) -> list[int]:
    gone = []
    for project_id in marked:
        removed = await project_removal.remove_ended(connection, project_id)
        if removed is Removed.WHOLE:
            gone.append(project_id)
        elif removed is Removed.NOTHING:
            running = await project_removal.unfinished(connection, project_id)
            await project_removal.cancel(connection, running, services.clock())
    return gone


async def _forget(services: Services, gone: Sequence[int]) -> None:
    """After the commit: without its rows nobody finds a folder; one that is left over by a crash harms nobody."""
    for project_id in gone:
        await services.repositories.remove(project_id)
    await services.notifications.notify(OUTBOX)
    await services.notifications.tell(RUNNERS)
