"""Two pods' databases, of all four pairs of kinds."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from auth.encryption import Sealer
from domain.pods.identity import PodIdentity
from models.repositories.installation import installations
from models.session import Database
from rigs.postgres import fresh_database
from settings import Settings
from tests.kinds_of_database import KINDS
from tests.models.database import migrated
from tests.models.world import BEGIN


@dataclass(frozen=True)
class PodDatabase:
    """The database of a pod, and the key that seals in it."""

    number: int
    database: Database
    sealer: Sealer


PAIRS = [
    pytest.param((one, other), id=f"{one}-to-{other}", marks=[pytest.mark.nightly] if one == other else [])
    for one in KINDS
    for other in KINDS
]
"""From each kind to each; the quick suite has the two that have both kinds at both ends."""


@pytest.fixture(params=PAIRS)
async def pods(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[tuple[PodDatabase, PodDatabase]]:
    """The pod that an organisation leaves, number 1, and the one that it comes to, number 2."""
    async with AsyncExitStack() as stack:
        found = []
        for number, kind in enumerate(request.param, 1):
            home, address = tmp_path / str(number), ""
            home.mkdir()
            if kind == "postgresql":
                address = await stack.enter_async_context(fresh_database(request.getfixturevalue("postgres")))
            database = Database(Settings(home=home, database_url=address).database)
            await stack.enter_async_context(migrated(database))
            async with database.write() as connection:
                await installations.ensure(connection, PodIdentity(f"pod-{number}", number), BEGIN)
            found.append(PodDatabase(number, database, Sealer({f"{number:08x}": bytes([number]) * 32})))
        yield found[0], found[1]
