"""Stopping environments, letting them stay, and deleting them, whatever door it comes through."""

from collections.abc import Iterable

from sqlalchemy.ext.asyncio import AsyncConnection

from application.access import ProjectAccess
from application.environments.deploying import require_deploy
from application.services import Services
from auth.permissions import Action
from domain.errors import Forbidden, NotFound, Unauthenticated
from models.notifications import OUTBOX, project_topic
from models.repositories.environments import environment_lifecycle, environments
from models.repositories.pipelines import pipelines
from models.rows.environments import EnvironmentRow


async def stop(services: Services, project: ProjectAccess, environment_id: int, *, force: bool = False) -> None:
    """Have the stop job run, or stop the environment at once where there is none, or with `force`.

    Whoever may not play the stop job may not stop the environment by it, nor a protected one whoever may not deploy.
    """
    project.require(Action.RUN)
    now = services.clock()
    async with services.database.write() as connection:
        row = await environments.get(connection, environment_id, project.row.id)
        stop_jobs = () if force else await environment_lifecycle.pipelines_to_stop(connection, row.id)
        await _require_stop(connection, project, row, stop_jobs)
        if force:
            await environment_lifecycle.force_stop(connection, environment_id, now)
        else:
            caller_id = project.caller.user_id
            await environment_lifecycle.stop(connection, [environment_id], now, caller_id=caller_id)
    await services.notifications.notify(OUTBOX)
    await services.notifications.show(project_topic(project.row.id))


async def may_stop(
    connection: AsyncConnection, project: ProjectAccess, row: EnvironmentRow, stop_jobs: Iterable[int]
) -> bool:
    """Whether `stop` lets the caller pass, for what only shows a button; `stop_jobs` are the pipelines they are in."""
    try:
        await _require_stop(connection, project, row, stop_jobs)
    except (Forbidden, NotFound, Unauthenticated):
        return False
    return True


async def _require_stop(
    connection: AsyncConnection, project: ProjectAccess, row: EnvironmentRow, stop_jobs: Iterable[int]
) -> None:
    project.require(Action.RUN)
    await require_deploy(connection, project, row)
    for pipeline_id in stop_jobs:
        project.require_run_of(await pipelines.get(connection, pipeline_id))


async def let_stay(services: Services, project: ProjectAccess, environment_id: int) -> None:
    """Let an environment not be stopped by itself, until the next deployment says so again."""
    project.require(Action.RUN)
    async with services.database.write() as connection:
        row = await environments.get(connection, environment_id, project.row.id)
        await require_deploy(connection, project, row)
        await environments.change(connection, environment_id, services.clock(), auto_stop_at=None)
    await services.notifications.show(project_topic(project.row.id))


async def remove(services: Services, project: ProjectAccess, environment_id: int) -> None:
    """Delete an environment that is stopped, with its deployments; a protected one, whoever may deploy to it."""
    project.require(Action.RUN)
    async with services.database.write() as connection:
        row = await environments.get(connection, environment_id, project.row.id)
        await require_deploy(connection, project, row)
        if not await environments.remove(connection, environment_id):
            raise Forbidden(f"Forbidden: environment {row.name} is {row.state}; stop it, then delete it.")
    await services.notifications.show(project_topic(project.row.id))
