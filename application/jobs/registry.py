"""Signing in at the container registry, as a job gets it (docs/reference/runner-protocol.md, "Job document")."""

from typing import Final

from domain.variables.job_variables import JobVariable
from settings import Settings

USER: Final = "gitlab-ci-token"
"""Who shows a job token says that this is their name."""


def registry_variables(settings: Settings, token: str) -> tuple[JobVariable, ...]:
    """How to sign in where images are pushed; nothing where there is no registry. Rules know where that is already."""
    if not settings.registry_url:
        return ()
    return (
        JobVariable("CI_REGISTRY_USER", USER, raw=True),
        JobVariable("CI_REGISTRY_PASSWORD", token, public=False, masked=True, raw=True),
    )


def registry_credentials(settings: Settings, token: str) -> list[dict[str, str]]:
    """What the runner itself signs in with to pull the images of a job."""
    if not settings.registry_url:
        return []
    return [{"type": "registry", "url": settings.registry_url, "username": USER, "password": token}]
