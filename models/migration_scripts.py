"""The migrations as alembic reads them. Imported where one is due or asked for, which at nearly no start it is."""

from functools import cache
from pathlib import Path
from typing import Final

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

_FOLDER: Final = Path(__file__).parent / "migrations"


def alembic_config() -> Config:
    """Alembic's configuration, without an ini file."""
    config = Config()
    config.set_main_option("script_location", str(_FOLDER))
    return config


def upgrade(connection: Connection, revision: str = "head") -> None:
    """Bring a database to a version of the schema, in the transaction of the connection."""
    config = alembic_config()
    config.attributes["connection"] = connection
    command.upgrade(config, revision)


@cache
def known_versions() -> tuple[str, ...]:
    """Every version of the schema that this code knows, the newest first; all migrations are read for it."""
    return tuple(script.revision for script in ScriptDirectory.from_config(alembic_config()).walk_revisions())
