"""Stopping environments, letting them stay, and deleting them, whatever door it comes through."""

from application.access import ProjectAccess
from application.environments.deploying import require_deploy
from application.services import Services
from auth.permissions import Action
from domain.errors import Forbidden
from models.notifications import OUTBOX, project_topic
from models.repositories.environments import environment_lifecycle, environments
from models.repositories.pipelines import pipelines


async def stop(services: Services, project: ProjectAccess, environment_id: int, *, force: bool = False) -> None:
    """Have the stop job run, or stop the environment at once where there is none, or with `force`.

    Whoever may not play the stop job may not stop the environment by it, nor a protected one whoever may not deploy.
    """
    project.require(Action.RUN)
    now = services.clock()
    async with services.database.write() as connection:
        row = await environments.get(connection, environment_id, project.row.id)
        await require_deploy(connection, project, row)
        if force:
            await environment_lifecycle.force_stop(connection, environment_id, now)
        else:
            for pipeline_id in await environment_lifecycle.pipelines_to_stop(connection, environment_id):
                project.require_operation("play_job", await pipelines.get(connection, pipeline_id))
            caller_id = project.caller.user_id
            await environment_lifecycle.stop(connection, [environment_id], now, caller_id=caller_id)
    await services.notifications.notify(OUTBOX)
    await services.notifications.show(project_topic(project.row.id))


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
