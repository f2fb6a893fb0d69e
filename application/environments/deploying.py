"""Asking, before something is done, whether the caller may deploy to its environment."""

from sqlalchemy.ext.asyncio import AsyncConnection

from application.access import ProjectAccess
from domain.errors import Forbidden
from models.repositories.environments import deploy_permissions
from models.repositories.pipelines import pipelines
from models.rows.environments import EnvironmentRow
from models.rows.pipelines import JobFacts


async def require_deploy(connection: AsyncConnection, project: ProjectAccess, environment: EnvironmentRow) -> None:
    """Raise `Forbidden` if an environment is protected from the caller."""
    caller_id = project.caller.user_id
    _raise(await deploy_permissions.refusal_of_environment(connection, environment, caller_id))


async def require_deploy_to(connection: AsyncConnection, project: ProjectAccess, name: str, tier: str) -> None:
    """Raise `Forbidden` unless the caller may deploy to an environment of this name, which need not be there yet."""
    target = deploy_permissions.Target(project.row.id, name, tier)
    _raise(await deploy_permissions.refusal_of(connection, target, project.caller.user_id))


async def require_job(connection: AsyncConnection, project: ProjectAccess, row: JobFacts) -> None:
    """Raise `Forbidden` unless the rules of a job's ref and of its environment let the caller do anything with it.

    As in GitLab, only who may change the ref and deploy plays, ends, erases or keeps it.
    """
    project.require_run_of(await pipelines.get(connection, row.pipeline_id))
    _raise(await deploy_permissions.refusal_of_job(connection, row.id, project.caller.user_id))


def _raise(refusal: str) -> None:
    if refusal:
        raise Forbidden(f"Forbidden: {refusal}")
