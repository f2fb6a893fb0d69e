"""A database with the newest schema, for as long as a block lasts."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeVar

from models.migrate import migrate
from models.session import Database

D = TypeVar("D", bound=Database)


@asynccontextmanager
async def migrated(database: D) -> AsyncIterator[D]:
    """Bring a database to the newest schema; it is closed in the end."""
    try:
        await migrate(database)
        yield database
    finally:
        await database.close()
