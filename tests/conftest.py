"""Fixtures of the whole suite: one PostgreSQL a run, and an empty database for whoever asks."""

import asyncio
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import asyncpg
import pytest

from tests.postgres import DRIVER, postgres_server


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


signal.signal(signal.SIGTERM, _interrupt)  # a run that is ended from outside stops the servers it started

_EMPTY = """
DO $$ DECLARE names text; BEGIN
  SELECT string_agg(format('%I', tablename), ', ') INTO names
    FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'alembic_version';
  IF names IS NOT NULL THEN EXECUTE 'TRUNCATE ' || names || ' RESTART IDENTITY CASCADE'; END IF;
END $$
"""


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """Address of the run's PostgreSQL server."""
    with postgres_server() as address:
        yield address


@pytest.fixture(scope="session")
def shared_database(postgres: str) -> str:
    """One database that tests empty in turn: that is ten times as fast as a new one for each."""
    name = "shared"
    _tell(postgres, f"CREATE DATABASE {name}")
    return f"{postgres.rpartition('/')[0]}/{name}"


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest) -> str:
    """Address of an empty database, as `PERDURE_DATABASE_URL` takes it; empty means SQLite in `home`."""
    if request.param == "sqlite":
        return ""
    address: str = request.getfixturevalue("shared_database")
    _tell(address, _EMPTY)
    return address


def _tell(address: str, statement: str) -> None:
    """One statement, in a thread: fixtures that are not coroutines share it with those that are."""

    async def tell() -> None:
        connection = await asyncpg.connect(address.replace(DRIVER, "postgresql://"))
        try:
            await connection.execute(statement)
        finally:
            await connection.close()

    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, tell()).result()
