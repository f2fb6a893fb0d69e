"""A pod as a move works on it: its database, its objects, its repositories, and the key that seals what is secret."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from auth.encryption import Sealer, open_sealer
from domain.errors import Invalid
from git.repository import Repositories
from models.migrate import pending
from models.repositories.installation import installations
from models.session import Database
from settings import Settings, TimeLimits
from storage.objects import ObjectStore


@dataclass(frozen=True, slots=True)
class PodPlace:
    """One of the two pods of a move."""

    name: str
    number: int
    database: Database
    store: ObjectStore
    repositories: Repositories
    sealer: Sealer
    runner_online: float = TimeLimits.model_fields["runner_online"].default
    """Seconds after which a runner that is silent counts as away."""


@asynccontextmanager
async def open_place(settings: Settings) -> AsyncIterator[PodPlace]:
    """A pod by its settings. Raises `Invalid` for a database that is another pod's, or of another version."""
    database = Database(settings.database)
    try:
        version, ahead = await pending(database)
        if version is None or ahead:
            raise Invalid(
                f"The database of pod {settings.pod} has schema {version or 'none'}, not that of this version: start "
                "the pod in this version first. Both pods of a move have the same."
            )
        async with database.read() as connection:
            kept = await installations.kept_identity(connection)
        if kept is None or (kept.name, kept.number) != (settings.pod, settings.pod_number):
            there = "no pod" if kept is None else f"pod {kept.name} (number {kept.number})"
            raise Invalid(
                f"The database for pod {settings.pod} (number {settings.pod_number}) is that of {there}: check "
                "PERDURE_DATABASE_URL, PERDURE_POD and PERDURE_POD_NUMBER."
            )
        yield PodPlace(
            settings.pod,
            settings.pod_number,
            database,
            ObjectStore.open(settings.store),
            Repositories(settings.repository_root),
            open_sealer(settings),
            settings.times.runner_online,
        )
    finally:
        await database.close()
