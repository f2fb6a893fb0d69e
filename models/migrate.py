"""Brings a database to the newest schema: `python -m models.migrate`, and at the start of the embedded stack."""

import asyncio
import sys

from sqlalchemy import Connection, inspect, text
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.errors import Invalid
from models.schema import VERSION
from models.session import Database
from settings import Settings

_ONE_AT_A_TIME = 7_061_970
"""Key of the PostgreSQL advisory lock that keeps two processes from migrating at once."""


def _upgrade(connection: Connection) -> None:
    version = _version(connection)
    if version == VERSION:
        return
    if version is not None:
        check_known(version)
    from models import migration_scripts  # alembic is imported where a migration is due

    migration_scripts.upgrade(connection)


def _version(connection: Connection) -> str | None:
    """The version of the schema there is; None for an empty database."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    version: str | None = connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one_or_none()
    return version


def _known() -> tuple[str, ...]:
    from models import migration_scripts  # the same

    return migration_scripts.known_versions()


def check_known(version: str) -> None:
    """Raise `Invalid` for a schema that was made by a newer Perdure than this one."""
    if version != VERSION and version not in _known():
        raise Invalid(
            f"The database has schema {version}, which this Perdure does not know (its newest is {VERSION}): it was "
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
    if version == VERSION:
        return version, []
    known = _known()
    ahead = known[: known.index(version)] if version is not None else known
    return version, list(reversed(ahead))


async def migrate(database: Database) -> None:
    """Apply every migration that is missing, in one transaction. Raises `Invalid` for a newer schema than ours."""
    async with database.write() as connection:
        await _lock(database, connection)
        await connection.run_sync(_upgrade)


async def versions(database: Database) -> tuple[str | None, str]:
    """The version of the schema there is (None for an empty database), and the newest; nothing is changed."""
    async with database.read() as connection:
        return await connection.run_sync(_version), VERSION


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
