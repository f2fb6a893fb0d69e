"""The container registry as a job gets it: variables and credentials (reference: runner protocol, section 9)."""

from typing import Final

from domain.variables import JobVariable
from settings import Settings

USER: Final = "gitlab-ci-token"
"""Who shows a job token says that this is his name."""


def registry_variables(settings: Settings, project_path: str, token: str) -> tuple[JobVariable, ...]:
    """Where images are pushed, and how to sign in; nothing where there is no registry."""
    if not settings.registry_url:
        return ()
    image = f"{settings.registry_url}/{project_path.lower()}"
    return (
        JobVariable("CI_REGISTRY", settings.registry_url, raw=True),
        JobVariable("CI_REGISTRY_IMAGE", image, raw=True),
        JobVariable("CI_REGISTRY_USER", USER, raw=True),
        JobVariable("CI_REGISTRY_PASSWORD", token, public=False, masked=True, raw=True),
    )


def registry_credentials(settings: Settings, token: str) -> list[dict[str, str]]:
    """What the runner itself signs in with to pull the images of a job."""
    if not settings.registry_url:
        return []
    return [{"type": "registry", "url": settings.registry_url, "username": USER, "password": token}]
