"""Fixtures of the whole suite: one PostgreSQL a run, and an empty database for whoever asks."""

import asyncio
import gc
import shutil
import signal
from collections.abc import AsyncIterator, Coroutine, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg
import pytest
import structlog
from hypothesis import HealthCheck, settings

import steps.grpc_library  # noqa: F401  # before the library of Temporal imports gRPC in its own way
from models.session import Database
from rigs.postgres import DRIVER
from tests.amounts import mark_nightly_as_slow
from tests.kept_connections import kept_connections
from tests.kinds_of_database import KINDS, mark_the_others
from tests.known_schema import known_schema
from tests.models.database import migrated
from tests.one_dialect import one_dialect
from tests.postgres import postgres_server
from tests.unclosed_connections import known_makers

pytest_plugins = ["tests.loop_watch"]

_TAKE_LONG = tuple(f"tests/{name}/" for name in ("oracle", "faults", "e2e", "production", "fuzz", "permissions"))
"""Folders with tests that take a minute and more."""

# Without it a traceback is drawn with all local variables, which takes minutes where one of them is the application.
structlog.configure(processors=[structlog.processors.format_exc_info, structlog.dev.ConsoleRenderer(colors=False)])

# Both would say that the machine is busy, not that a property does not hold.
settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


signal.signal(signal.SIGTERM, _interrupt)  # a run that is ended from outside stops the servers it started


@pytest.hookimpl(tryfirst=True)  # before `-m` chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of doors run on one kind of database each, at night on the other one; what takes long comes first.

    Else the last files have one processor to themselves while others have nothing to do.
    """
    mark_the_others(items)
    mark_nightly_as_slow(items)
    for item in items:
        if item.get_closest_marker("alone") and not item.nodeid.startswith(_ALONE):
            raise pytest.UsageError(f"{item.nodeid} is marked alone: make test-slow looks for those in {_ALONE} only")
    items.sort(key=lambda item: not item.nodeid.startswith(_TAKE_LONG))


def pytest_configure() -> None:
    """Collect no garbage while modules are imported: nearly all that they make stays."""
    gc.disable()


def pytest_collection_finish() -> None:
    """What is there by now is never garbage: nobody has to look at it again and again."""
    gc.freeze()
    gc.set_threshold(_GARBAGE_EVERY)
    gc.enable()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Collect no garbage while a failure is put into words.

    A greenlet of SQLAlchemy that dies while CPython 3.11 builds a syntax tree breaks its count of recursion, and pytest
    ends with a `SystemError` instead of showing the failure.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish() -> Generator[None, None, None]:
    """Collect no garbage while plugins import their last modules, for the same reason."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


_ALONE = ("tests/browser/", "tests/security/")
"""Where `make test-slow` looks for tests that are marked `alone`."""
_SHARED = "shared"
_GARBAGE_EVERY = 20_000
"""New objects after which garbage is collected; the usual 700 come all the time where each test has an application."""
_EMPTY = """
DO $$ DECLARE name text; counter record; BEGIN
  SET LOCAL session_replication_role = replica;  -- no foreign key is looked at
  FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'alembic_version' LOOP
    EXECUTE format('DELETE FROM %I', name);
  END LOOP;
  FOR counter IN SELECT * FROM pg_sequences WHERE schemaname = 'public' AND last_value IS NOT NULL LOOP
    PERFORM setval(format('%I', counter.sequencename)::regclass, counter.start_value, false);
  END LOOP;
END $$
"""


@pytest.fixture(scope="session", autouse=True)
async def compiled_statements() -> AsyncIterator[None]:
    """Databases of one kind share their schema, what was compiled for them, and what was prepared by the server."""
    with known_makers(), one_dialect(), kept_connections(_SHARED, asyncio.get_running_loop()), known_schema():
        yield


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """Address of the run's PostgreSQL server."""
    with postgres_server() as address:
        yield address


@dataclass(frozen=True)
class SharedDatabase:
    """A database that tests use in turn, and a connection that empties it, in a thread and a loop of its own."""

    address: str
    connection: asyncpg.Connection
    loop: asyncio.Runner
    thread: ThreadPoolExecutor

    def tell(self, statement: str) -> None:
        """One statement."""
        self.thread.submit(self.loop.run, self.connection.execute(statement)).result()


@pytest.fixture(scope="session")
def shared_database(postgres: str) -> Iterator[SharedDatabase]:
    """One for the run: to empty it is ten times as fast as a new one for each test."""
    address = f"{postgres.rpartition('/')[0]}/{_SHARED}"

    async def make() -> asyncpg.Connection:
        connection = await asyncpg.connect(postgres.replace(DRIVER, "postgresql://"))
        await connection.execute(f"CREATE DATABASE {_SHARED}")
        await connection.close()
        return await asyncpg.connect(address.replace(DRIVER, "postgresql://"))

    with ThreadPoolExecutor(1) as thread:
        loop = thread.submit(asyncio.Runner).result()
        connection = thread.submit(loop.run, make()).result()
        yield SharedDatabase(address, connection, loop, thread)
        thread.submit(loop.run, connection.close()).result()
        thread.submit(loop.close).result()


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An SQLite file with the newest schema; a copy takes a hundredth of the time in which it is made."""
    file = tmp_path_factory.mktemp("migrated") / "perdure.db"

    async def make() -> None:
        async with migrated(Database(f"sqlite:///{file}")):
            pass

    _run(make())
    return file


@pytest.fixture
def sqlite_url(migrated_file: Path, tmp_path: Path) -> str:
    """Address of an empty SQLite database, for tests of what talks to a server and knows nothing of its database."""
    copy = tmp_path / "perdure.db"
    shutil.copy(migrated_file, copy)
    return f"sqlite:///{copy}"


@pytest.fixture(params=KINDS)
def database_url(request: pytest.FixtureRequest) -> str:
    """Address of an empty database with the newest schema (PostgreSQL's may have none yet)."""
    if request.param == "sqlite":
        return str(request.getfixturevalue("sqlite_url"))
    shared: SharedDatabase = request.getfixturevalue("shared_database")
    shared.tell(_EMPTY)
    return shared.address


def _run(work: Coroutine[Any, Any, None]) -> None:
    """In a thread: fixtures that are not coroutines share it with those that are."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, work).result()
