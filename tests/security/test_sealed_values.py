"""Values that people give pipelines and jobs stand nowhere in the database in clear, and reach those who need them."""

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update

from domain.sealed_documents import COLUMNS, open_row
from domain.sealed_for import PIPELINE
from loops.bridges import BridgeLoop
from loops.sealing import SealingLoop
from models.repositories.installation import clear_values
from models.repositories.installation.installations import installation
from models.schema import METADATA
from tests.api.v4.merge_requests.merging import Merging
from tests.api.v4.site import open_site

CANARY = "canary-swordfish"
CONFIG = """
build: {script: [make], rules: [{if: $GIVEN == "other", when: never}, {if: $GIVEN}]}
absent: {script: [make], rules: [{if: $GIVEN && $NOBODY}]}
gate: {script: [x], rules: [{if: $GIVEN, when: manual, allow_failure: true}]}
down: {needs: [], variables: {HANDED: $GIVEN}, trigger: {include: child.yml}, rules: [{if: $GIVEN}]}
"""
CHILD = "below: {script: [x], rules: [{if: $HANDED}]}\n"
VARIABLES = [{"key": "GIVEN", "value": CANARY}]


class Given:
    """A project whose pipelines were given a secret by every door that takes one."""

    def __init__(self, here: Merging) -> None:
        """Nothing was given yet."""
        self.here = here
        self.services = here.site.services
        self.pipelines: list[int] = []

    async def make(self) -> None:
        """A pipeline by each door, a job that is played with variables, and a child pipeline."""
        here = self.here
        await here.site.commit({".gitlab-ci.yml": CONFIG, "child.yml": CHILD})
        by_api = await here.good("POST", "pipeline", json={"ref": "main", "variables": VARIABLES})
        token = (await here.good("POST", "triggers", json={"description": "t"}))["token"]
        call = {"token": token, "ref": "main", "variables": {"GIVEN": CANARY}}
        by_trigger = await here.good("POST", "trigger/pipeline", json=call)
        self.pipelines = [by_api["id"], by_trigger["id"]]
        for pipeline_id in self.pipelines:
            await here.site.world.settle(pipeline_id)
        await BridgeLoop(self.services).carry_out_due()
        children = [row["id"] for row in await here.good("GET", "pipelines?source=parent_pipeline")]
        for child_id in children:
            await here.site.world.settle(child_id)
        self.pipelines += children
        jobs = await here.good("GET", f"pipelines/{by_api['id']}/jobs")
        (gate,) = (job for job in jobs if job["name"] == "gate")
        here.site.connect_temporal()
        played = [{"key": "PLAYED", "value": CANARY}]
        await here.good("POST", f"jobs/{gate['id']}/play", json={"job_variables_attributes": played})

    async def places(self) -> set[str]:
        """Where the secret stands in clear, as `table.column`."""
        found = set()
        async with self.services.database.read() as connection:
            for table in METADATA.sorted_tables:
                for row in (await connection.execute(select(table))).mappings():
                    found |= {f"{table.name}.{name}" for name, value in row.items() if CANARY in str(value)}
        return found

    async def told(self) -> list[Any]:
        """What those who may run pipelines are told of them."""
        found = []
        for pipeline_id in self.pipelines:
            found.append(await self.here.good("GET", f"pipelines/{pipeline_id}/variables"))
            found.append(await self.here.good("GET", f"pipelines/{pipeline_id}/why"))
        return found

    async def in_clear(self) -> None:
        """The rows as a version of before has written them."""
        opening = partial(self.services.sealer.open, purpose=PIPELINE)
        async with self.services.database.write() as connection:
            for table in METADATA.sorted_tables:
                if table.name in ("job", "pipeline"):
                    rows = (await connection.execute(select(table))).mappings().all()
                    last = max(row["id"] for row in rows)
                    for row in rows:
                        opened = open_row(table.name, dict(row), opening)
                        changed = {name: opened[name] for name in COLUMNS[table.name]}
                        await connection.execute(update(table).where(table.c.id == row["id"]).values(**changed))
                    await connection.execute(update(installation).values({f"clear_{table.name}s_up_to": last}))


@pytest.fixture
async def given(tmp_path: Path, database_url: str) -> AsyncIterator[Given]:
    async with open_site(tmp_path, database_url) as site:
        made = Given(Merging(site))
        await made.make()
        yield made


async def test_what_was_given_stands_nowhere_in_clear_and_is_told_to_those_who_may_run(given: Given) -> None:
    assert len(given.pipelines) == 4
    assert await given.places() == set()
    told = await given.told()
    assert all(CANARY in str(one) for one in told), told
    jobs = [await given.here.site.world.job() for _ in range(5)]
    values = [(item["key"], item["value"]) for job in jobs for item in job["variables"]]
    assert {key for key, value in values if value == CANARY} == {"GIVEN", "HANDED", "PLAYED"}


async def test_what_a_version_of_before_left_in_clear_is_sealed_a_few_rows_at_a_time(
    given: Given, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = await given.told()
    await given.in_clear()
    assert await given.places() == {"pipeline.variables", "pipeline.reasons", "job.variables", "job.why"}
    assert await given.told() == told
    monkeypatch.setattr("loops.sealing.BATCH", 2)
    loop = SealingLoop(given.services.database, given.services.sealer)
    batches = 0
    while await loop.seal_batch():
        batches += 1
    assert batches >= 5
    assert await given.places() == set()
    assert await given.told() == told


async def test_a_round_that_fails_is_made_again(given: Given) -> None:
    await given.in_clear()

    def refuse(_text: str) -> str:
        raise RuntimeError("no key")

    async with given.services.database.write() as connection:
        with pytest.raises(RuntimeError):
            await clear_values.seal_next(connection, refuse, 100)
    loop = SealingLoop(given.services.database, given.services.sealer)
    while await loop.seal_batch():
        pass
    assert await given.places() == set()
