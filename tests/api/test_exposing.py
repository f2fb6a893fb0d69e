"""What processes of each role tell."""

from pathlib import Path

import pytest

from api.exposing import exposition_of
from metrics import names
from metrics.definition import By
from models.sqlite_file import CONNECTIONS
from tests.api.v4.site import open_site
from tests.metrics.scraping import Scrape

GAUGES_OF_WORKERS = [one for one in names.ALL if one.by is By.WORKER and one.kind == "gauge"]
COUNTED = {names.INVARIANTS_BROKEN, names.INVARIANTS_CHECKED}
"""Those that a loop of the worker sets; the others are read from the database when somebody asks."""


@pytest.mark.parametrize(("role", "reads"), [("all", True), ("worker", True), ("api", False)])
async def test_the_figures_of_the_database_are_told_by_workers_only(
    tmp_path: Path, sqlite_url: str, role: str, reads: bool
) -> None:
    """Processes that hold polls are not asked for them, and no sum counts them twice for that."""
    async with open_site(tmp_path, sqlite_url) as site:
        services = site.services
        object.__setattr__(services, "settings", services.settings.model_copy(update={"api_role": role}))
        before = services.database.usage.reads.number
        found = Scrape((await exposition_of(services).text()).decode())
        assert (services.database.usage.reads.number > before) is reads
    assert {found.has(one) for one in GAUGES_OF_WORKERS if one not in COUNTED} == {reads}
    assert found.total(names.DATABASE_LIMIT) == CONNECTIONS


async def test_what_the_process_sees_is_told_as_it_is_now(tmp_path: Path, sqlite_url: str) -> None:
    async with open_site(tmp_path, sqlite_url) as site:
        exposition = exposition_of(site.services)
        async with site.services.database.write():
            inside = Scrape((await exposition.text()).decode())
        after = Scrape((await exposition.text()).decode())
    assert inside.total(names.DATABASE_CONNECTIONS, state="in_use") == 1
    assert after.total(names.DATABASE_CONNECTIONS, state="in_use") == 0
    writes = [found.total(names.DATABASE_TRANSACTIONS, kind="write") for found in (inside, after)]
    assert writes[0] == writes[1] > 0
    assert after.total(names.DISK_FREE, folder="home") > 0
