"""The deploy token that the jobs of a project are given: the one with the special name, while it is good.

Source: GitLab: "Deploy tokens", "GitLab deploy token": `CI_DEPLOY_USER` and `CI_DEPLOY_PASSWORD`.
"""

from application.accounts.deploy_token_access import purpose_of
from application.services import Services
from domain.variables.job_variables import JobVariable
from models.rows.deploy_tokens import DeployTokenRow


def deploy_variables(services: Services, token: DeployTokenRow | None) -> tuple[JobVariable, ...]:
    """Name and password for a job; `token` is its row, or None."""
    if token is None or (token.expires_at is not None and token.expires_at <= services.clock()):
        return ()
    password = services.sealer.open(token.sealed, purpose_of(token.project_id))
    return (
        JobVariable("CI_DEPLOY_USER", token.username, raw=True),
        JobVariable("CI_DEPLOY_PASSWORD", password, public=False, masked=True, raw=True),
    )
