"""No statement reads a table that grows, whichever database plans it: a year of rows, and everything that is sent.

Every route is called with every filter, and every loop looks, on 100,000 jobs. Then each statement that was sent is
explained. It takes some minutes a database: as many rows have to be there, and a thousand calls be made. It runs by
night: what a loop asks late in its first round is seen or not, as it comes, and no push shall be red for that.
"""

from collections import defaultdict
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any, Final

import asyncpg
import pytest

from bench.growth.rows import multiply, unchecked
from models.migrate import migrate
from models.schema import METADATA
from models.session import Database
from models.sqlite_file import SqliteConnection
from rigs.postgres import DRIVER, fresh_database
from tests.kinds_of_database import KINDS
from tests.permissions.place import open_place
from tests.plans.filling import fill
from tests.plans.growing import BOUNDED, FILLED, GROWING
from tests.plans.known import ALLOWED, UNUSED
from tests.plans.reading import Explaining, Index, Postgres, Read, Sqlite
from tests.plans.recording import Recording, Sent, recorded
from tests.plans.stack import OFTEN, missing, work
from tests.plans.walk import walk

JOBS: Final = 100_000
FEW: Final = 2_000
"""So many rows may be read of a table that grows: as many as its average project has."""


def test_every_table_is_known_to_grow_or_not_to() -> None:
    bounded = [name for names in BOUNDED.values() for name in names.split()]
    assert sorted((*bounded, *GROWING)) == sorted(METADATA.tables)


@dataclass(frozen=True, slots=True)
class Grown:
    """A database with a year of rows, and what was sent to it."""

    kind: str
    recording: Recording
    broken: list[str]
    explaining: Explaining
    indices: Mapping[str, Index]

    async def faults(self, statements: Mapping[str, Sent] | None = None) -> dict[tuple[str, Read], str]:
        """What reads too much, with a statement that does."""
        found = {}
        for sent in (self.recording.statements if statements is None else statements).values():
            for read in await self.explaining.reads(sent):
                if read.table in GROWING and self.rows(read) > FEW:
                    found[(sent.place, read)] = sent.text
        return found

    def rows(self, read: Read) -> int:
        """How many are read, on average."""
        index = self.indices.get(read.index)
        if index is None:
            return 1 if read.keys else JOBS
        return index.alike[min(len(read.keys), len(index.alike)) - 1] if read.keys and index.alike else index.rows


@pytest.fixture(scope="module", params=KINDS)
async def grown(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Grown]:
    folder = tmp_path_factory.mktemp("grown")
    async with AsyncExitStack() as stack:
        address = f"sqlite:///{folder / 'year.db'}"
        if request.param == "postgresql":
            address = await stack.enter_async_context(fresh_database(request.getfixturevalue("postgres")))
        await _fill(address)
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setattr(SqliteConnection, "execute", _in_this_thread)
        with recorded() as recording:
            async with open_place(folder / "place", database_url=address, **OFTEN) as place:
                broken = await walk(place)
                await work(place, recording)
        await _analyse(address)
        explaining: Explaining
        if request.param == "sqlite":
            explaining = Sqlite(folder / "year.db")
            stack.callback(explaining.close)
        else:
            connection = await asyncpg.connect(address.replace(DRIVER, "postgresql://"))
            stack.push_async_callback(connection.close)
            explaining = Postgres(connection)
        await explaining.begin()
        yield Grown(request.param, recording, broken, explaining, await explaining.indices())


async def _in_this_thread(connection: SqliteConnection, statement: Any, parameters: Any = None) -> Any:
    """Run a statement where it can be seen who asks for it."""
    return connection._file.line(connection._name).connection.execute(statement, parameters)


async def _fill(address: str) -> None:
    database = Database(address)
    await migrate(database)
    home = await multiply(database, JOBS)
    async with unchecked(database) as connection:
        await fill(connection, FILLED, home.user)
    await database.close()
    await _analyse(address)


async def _analyse(address: str) -> None:
    """As a process does at its start."""
    database = Database(address)
    await database.analyse()
    await database.close()


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.blocks_the_loop("all statements run where it can be seen who sends them")
async def test_everything_is_sent(grown: Grown) -> None:
    """A route that fails, or a loop that does not look, would hide its statements."""
    assert grown.broken == []
    assert missing(grown.recording) == set()
    assert len(grown.recording.statements) > 1_000


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.blocks_the_loop("all statements run where it can be seen who sends them")
async def test_no_statement_reads_a_table_that_grows(grown: Grown) -> None:
    faults = (await grown.faults()).items()
    new = [f"{place}: {read}\n    {text}" for (place, read), text in faults if (place, read.table) not in ALLOWED]
    assert not new, "\n".join(new)


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.blocks_the_loop("all statements run where it can be seen who sends them")
async def test_each_index_is_needed(grown: Grown) -> None:
    """Without it a statement that used it reads too much: so the other test is red with each index taken out."""
    used: defaultdict[str, dict[str, Sent]] = defaultdict(dict)
    for shape, sent in grown.recording.statements.items():
        for read in await grown.explaining.reads(sent):
            used[read.index][shape] = sent
    known, needless = await grown.faults(), []
    for name in await grown.explaining.plain_indices():
        if grown.indices[name].table in GROWING and name not in UNUSED:
            async with grown.explaining.without(name):
                if not (await grown.faults(used[name])).keys() - known.keys():
                    needless.append(f"{name} ({len(used[name])} statements)")
    assert needless == []
