"""Environments that people make or change by hand; those of jobs are made when a pipeline is."""

from typing import Final

from application.access import ProjectAccess
from application.environments.deploying import require_deploy, require_deploy_to
from application.services import Services
from auth.permissions import Action
from domain.config.readers.environment import TIERS
from domain.environments.places import deployed_url, is_environment_name
from domain.errors import FieldsInvalid
from domain.variables.environment_variables import environment_slug, guessed_tier
from models.notifications import project_topic
from models.repositories.environments import environments
from models.rows.environments import EnvironmentRow

_PLAIN_TEXT: Final = str.maketrans({"$": "$$", "%": "%%"})
_NOT_A_NAME: Final = (
    "is invalid: it can contain only letters, digits, spaces and - _ / $ { } ., and cannot start or end with /."
)
_NOT_A_TIER: Final = f"is invalid: choose one of {', '.join(TIERS)}."


async def create(
    services: Services, project: ProjectAccess, name: str, *, tier: str | None = None, external_url: str | None = None
) -> EnvironmentRow:
    """Make an environment that no job has deployed to yet; without a tier, its name tells.

    Under a protected name, whoever may deploy there: the address that others see is theirs to say. Raises `Invalid`,
    `Forbidden`.
    """
    project.require(Action.RUN)
    if not is_environment_name(name):
        raise FieldsInvalid(name=_NOT_A_NAME)
    tier = _tier(tier) or guessed_tier(name)
    given = {"slug": environment_slug(name), "tier": tier, "external_url": _address(external_url)}
    async with services.database.write() as connection:
        await require_deploy_to(connection, project, name, tier)
        made = await environments.create(connection, project.row.id, name, services.clock(), **given)
        row = await environments.get(connection, made, project.row.id)
    await services.notifications.show(project_topic(project.row.id))
    return row


async def change(
    services: Services,
    project: ProjectAccess,
    environment_id: int,
    *,
    tier: str | None = None,
    external_url: str | None = None,
) -> EnvironmentRow:
    """Change the tier or the address; None leaves them. Of a protected one, whoever may deploy to it.

    Raises `Invalid`, `NotFound`, `Forbidden`.
    """
    project.require(Action.RUN)
    given = {"tier": _tier(tier), "external_url": None if external_url is None else _address(external_url)}
    values = {name: value for name, value in given.items() if value is not None}
    async with services.database.write() as connection:
        row = await environments.get(connection, environment_id, project.row.id)
        await require_deploy(connection, project, row)
        if values:
            await environments.change(connection, environment_id, services.clock(), **values)
        row = await environments.get(connection, environment_id, project.row.id)
    await services.notifications.show(project_topic(project.row.id))
    return row


def _tier(tier: str | None) -> str | None:
    if tier and tier not in TIERS:
        raise FieldsInvalid(tier=_NOT_A_TIER)
    return tier or None


def _address(text: str | None) -> str:
    """An address that a page may link to. Raises `Invalid` for others."""
    if text and not deployed_url(text.translate(_PLAIN_TEXT), {}):
        raise FieldsInvalid(external_url="is invalid: it must be an http or https address with a host.")
    return text or ""
