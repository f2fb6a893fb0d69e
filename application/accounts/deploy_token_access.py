"""Who shows a deploy token as a password: git and container tools, with the token's own user name."""

from datetime import timedelta
from typing import Final

from application.services import Services
from auth.secret_token import digest
from domain.errors import Unauthenticated
from domain.pods.token_prefixes import DEPLOY
from models.repositories.namespaces import deploy_tokens
from models.rows.deploy_tokens import DeployTokenRow

OF_JOBS: Final = "gitlab-deploy-token"
"""The name of the one that jobs of a project are given (GitLab: "Deploy tokens", "GitLab deploy token")."""

_NOTED_EVERY: Final = timedelta(minutes=10)
"""How exact the time of a token's last use is, as that of access tokens."""


def purpose_of(project_id: int | None) -> str:
    """What the token of jobs is sealed for: moved to another project it cannot be opened."""
    return f"deploy_token:{project_id or ''}"


def is_deploy_token(password: str) -> bool:
    """Whether a password is a deploy token, by its form."""
    return password.startswith(DEPLOY)


async def deploy_token_of(services: Services, username: str, password: str) -> DeployTokenRow:
    """The deploy token behind a user name and a password. Raises `Unauthenticated` for one that is not good now."""
    now = services.clock()
    async with services.database.read() as connection:
        row = await deploy_tokens.by_token(connection, username, digest(password), now)
    if row is None:
        raise Unauthenticated("Unauthorized")
    if row.last_used_at is None or now - row.last_used_at > _NOTED_EVERY:
        async with services.database.write() as connection:
            await deploy_tokens.note_use(connection, row.id, now)
    return row
