"""Uploads that came to nothing."""

import structlog

from api.services import Services
from domain.errors import PerdureError
from models.repositories.artifacts import unused_objects

log = structlog.get_logger()


async def give_up(services: Services, key: str) -> None:
    """The object, if it came so far, is deleted soon; without the database its key is found after a day."""
    try:
        async with services.database.write() as connection:
            await unused_objects.doom_announced(connection, key)
    except PerdureError as error:
        log.warning("an upload that came to nothing is cleared away later", key=key, error=str(error))
