"""Which pod a process is of: what its settings say, and its database knows better."""

from datetime import datetime

from domain.pods.identity import PodIdentity, of_known_pod
from models.migrate import versions
from models.repositories.installation import installations
from models.session import Database
from settings import Settings


def identity_given(settings: Settings) -> PodIdentity:
    """What the settings say of the pod."""
    return PodIdentity(settings.pod, settings.pod_number, settings.temporal_namespace, settings.task_queue)


def as_identified(settings: Settings, mine: PodIdentity) -> Settings:
    """The settings of a process of this pod."""
    return settings.model_copy(update={"temporal_namespace": mine.namespace, "task_queue": mine.task_queue})


async def begin(settings: Settings, database: Database, now: datetime) -> Settings:
    """The settings in force; at the first start the database is told whose it is.

    Raises `Invalid` when it belongs to another pod, or settings say something else than it knows.
    """
    async with database.write() as connection:
        row = await installations.ensure(connection, identity_given(settings), now)
    return as_identified(settings, installations.identity_of(row))


async def recognized(settings: Settings, database: Database) -> Settings:
    """The settings in force as far as a database says of whatever version, which is not written.

    Raises `Invalid` as `begin` does.
    """
    if (await versions(database))[0] is None:
        return settings
    async with database.read() as connection:
        kept = await installations.kept_identity(connection)
    return settings if kept is None else as_identified(settings, of_known_pod(kept, identity_given(settings)))
