"""The settings of a command, with what the database of this pod knows better (its place in Temporal)."""

from sqlalchemy.exc import SQLAlchemyError

from application.installation.identity import recognized
from cli.doctor_checks.file_of import file_of
from models.session import Database
from settings import Settings


async def identified(settings: Settings) -> Settings:
    """The settings in force; as they are given while there is no database, or none that can be read.

    Raises `Invalid` if they say something else than it knows.
    """
    file = file_of(settings.database)
    if file is not None and not file.exists():
        return settings
    database = Database(settings.database)
    try:
        return await recognized(settings, database)
    except (SQLAlchemyError, OSError):
        return settings  # whoever needs it says so
    finally:
        await database.close()
