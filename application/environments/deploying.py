"""Asking, before something is done, whether the caller may deploy to its environment."""

from sqlalchemy.ext.asyncio import AsyncConnection

from application.access import ProjectAccess
from domain.errors import Forbidden
from models.repositories.environments import deploy_permissions
from models.rows.environments import EnvironmentRow


async def require_deploy(connection: AsyncConnection, project: ProjectAccess, environment: EnvironmentRow) -> None:
    """Raise `Forbidden` if an environment is protected from the caller."""
    caller_id = project.caller.user_id
    _raise(await deploy_permissions.refusal_of_environment(connection, environment, caller_id))


async def require_deploying_job(connection: AsyncConnection, project: ProjectAccess, job_id: int) -> None:
    """The same for a job, whatever is done with it: as in GitLab, only who may deploy plays, ends or erases it."""
    _raise(await deploy_permissions.refusal_of_job(connection, job_id, project.caller.user_id))


def _raise(refusal: str) -> None:
    if refusal:
        raise Forbidden(f"Forbidden: {refusal}")
