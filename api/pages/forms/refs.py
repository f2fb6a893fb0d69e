"""The branches and tags that a form offers."""

from typing import Final

from api.services import Services
from application.access import ProjectAccess

MAX_REFS: Final = 500
"""So many are offered; any other can be typed."""


async def refs_of(services: Services, project: ProjectAccess) -> tuple[str, ...]:
    """Short names of branches, then of tags. Raises `NotFound` where there is no repository yet."""
    repository = services.repositories.get(project.row.id)
    found = (*await repository.branches(), *await repository.tags())[:MAX_REFS]
    return tuple(dict.fromkeys(ref.short_name for ref in found))
