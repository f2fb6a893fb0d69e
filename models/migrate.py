"""Brings a database to the newest schema: `python -m models.migrate`, and at the start of the embedded stack."""

import asyncio
import sys
from functools import cache
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text
from sqlalchemy.ext.asyncio import AsyncConnection

from models.session import Database
from settings import Settings

_FOLDER = Path(__file__).parent / "migrations"
_ONE_AT_A_TIME = 7_061_970
"""Key of the PostgreSQL advisory lock that keeps two processes from migrating at once."""


def alembic_config() -> Config:
    """Alembic's configuration, without an ini file."""
    config = Config()
    config.set_main_option("script_location", str(_FOLDER))
    return config


def _upgrade(connection: Connection) -> None:
    if _version(connection) == _newest():
        return
    config = alembic_config()
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


@cache
def _newest() -> str | None:
    """The version that the migrations lead to; they are all read for it."""
    return ScriptDirectory.from_config(alembic_config()).get_current_head()


def _version(connection: Connection) -> str | None:
    """The version of the schema there is; None for an empty database."""
    return MigrationContext.configure(connection).get_current_revision()


async def migrate(database: Database) -> None:
    """Apply every migration that is missing, in one transaction."""
    async with database.write() as connection:
        await _lock(database, connection)
        await connection.run_sync(_upgrade)


async def _lock(database: Database, connection: AsyncConnection) -> None:
    if not database.is_sqlite:
        await connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _ONE_AT_A_TIME})


async def _main() -> None:
    settings = Settings()
    database = Database(settings.database)
    try:
        await migrate(database)
    finally:
        await database.close()
    sys.stdout.write("The database has the newest schema.\n")


if __name__ == "__main__":
    asyncio.run(_main())
