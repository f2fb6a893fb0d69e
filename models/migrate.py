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

from domain.errors import Invalid
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
    version = _version(connection)
    if version == _newest():
        return
    if version is not None:
        check_known(version)
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


@cache
def _known() -> tuple[str, ...]:
    """Every version of the schema that this code knows, the newest first."""
    return tuple(script.revision for script in ScriptDirectory.from_config(alembic_config()).walk_revisions())


def check_known(version: str) -> None:
    """Raise `Invalid` for a schema that was made by a newer Perdure than this one."""
    if version not in _known():
        raise Invalid(
            f"The database has schema {version}, which this Perdure does not know (its newest is {_newest()}): it was "
            "upgraded by a newer version. Install that version again, or restore a backup of the older one."
        )


async def pending(database: Database) -> tuple[str | None, list[str]]:
    """The schema there is (None: none yet), and the versions that it still has to go through, in their order.

    Raises `Invalid` for a schema that is newer than this code.
    """
    async with database.read() as connection:
        version: str | None = await connection.run_sync(_version)
    if version is not None:
        check_known(version)
    known = _known()
    ahead = known[: known.index(version)] if version is not None else known
    return version, list(reversed(ahead))


async def migrate(database: Database) -> None:
    """Apply every migration that is missing, in one transaction. Raises `Invalid` for a newer schema than ours."""
    async with database.write() as connection:
        await _lock(database, connection)
        await connection.run_sync(_upgrade)


async def versions(database: Database) -> tuple[str | None, str | None]:
    """The version of the schema there is (None for an empty database), and the newest; nothing is changed."""
    async with database.read() as connection:
        return await connection.run_sync(_version), _newest()


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
