"""The schema is made by migrations once a run; every further empty SQLite database takes what they have made.

The product migrates a database once. Tests open one each, and all migrations take twenty times as long as their result.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from sqlalchemy import Connection

from models import migrate

MIGRATING = migrate._upgrade
"""What the product does, for tests of migrations."""
_TRANSACTION = {"BEGIN TRANSACTION;", "COMMIT;"}


@contextmanager
def known_schema() -> Iterator[None]:
    """Bring empty SQLite databases to the newest schema by the statements that the first one had in the end."""
    statements: list[str] = []

    def upgraded(connection: Connection) -> None:
        driver = connection.connection.driver_connection
        if connection.dialect.name != "sqlite" or driver is None or migrate._version(connection) is not None:
            MIGRATING(connection)
        elif statements:
            for statement in statements:
                driver.execute(statement)
        else:
            MIGRATING(connection)
            statements.extend(line for line in driver.iterdump() if line not in _TRANSACTION)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(migrate, "_upgrade", upgraded)
        yield
