"""Figures from the database for the metrics: seldom read, never in the way, and of few labels."""

import random
import string
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from prometheus_client import generate_latest

from api.exposing import exposition_of
from api.measuring import TOLD, Measuring
from metrics import names
from metrics.labels import OTHER
from metrics.server_metrics import MAX_TAG_SETS, ServerMetrics
from models.session import Database
from settings import Settings
from tests.api.v4.site import open_site
from tests.metrics.scraping import Scrape
from tests.models.database import migrated
from tests.models.world import World

pytestmark = pytest.mark.both_databases

JOBS = 1_000
CHANCE = random.Random(4711)
FEW_BYTES = 150_000
"""Of a whole response; a name for each of the thousand would be several times as much."""


@pytest.fixture
async def world(tmp_path: Path, database_url: str) -> AsyncIterator[World]:
    async with migrated(Database(Settings(home=tmp_path, database_url=database_url).database)) as database:
        yield await World.make(database)


def told(metrics: ServerMetrics) -> Scrape:
    return Scrape(generate_latest(metrics.registry).decode())


async def test_figures_that_are_fresh_are_not_read_again(world: World) -> None:
    metrics = ServerMetrics()
    measuring = Measuring(world.database, metrics, fresh=3600)
    metrics.sampled(TOLD, measuring.now)
    await measuring.refresh()
    await world.begin()
    reads = world.database.usage.reads.number
    for _ in range(20):
        await measuring.refresh()
    assert world.database.usage.reads.number == reads
    assert told(metrics).total(names.QUEUE_JOBS) == 0
    again = Measuring(world.database, metrics, fresh=0)
    await again.refresh()
    assert sum(again.now()[names.QUEUE_JOBS].values()) == 1


async def test_without_a_database_the_other_metrics_are_told(tmp_path: Path) -> None:
    """An empty file has no tables."""
    metrics = ServerMetrics()
    database = Database(f"sqlite:///{tmp_path / 'empty.db'}")
    measuring = Measuring(database, metrics)
    metrics.sampled(TOLD, measuring.now)
    metrics.reported("success")
    await measuring.refresh()
    found = told(metrics)
    assert found.total(names.MEASURE_FAILURES) == 1
    assert (found.total(names.VERDICTS), found.labels(names.QUEUE_JOBS)) == (1, [])
    await database.close()


def word() -> str:
    return "".join(CHANCE.choices(string.ascii_lowercase + "_-.é", k=CHANCE.randint(1, 40)))


async def test_a_thousand_lists_of_tags_in_the_queue_are_few_series(world: World) -> None:
    """Each job has tags of its own, as where a tag holds a name of a branch; no job is lost from the sum."""
    lines = [f'job{number}: {{script: make, tags: ["{word()}", "{number}"]}}' for number in range(JOBS)]
    await world.begin("\n".join(lines))
    metrics = ServerMetrics()
    measuring = Measuring(world.database, metrics)
    metrics.sampled(TOLD, measuring.now)
    await measuring.refresh()
    found = told(metrics)
    assert found.total(names.QUEUE_JOBS) == JOBS
    assert len(found.labels(names.QUEUE_JOBS)) == MAX_TAG_SETS + 1 == len(found.labels(names.QUEUE_OLDEST))
    assert found.total(names.QUEUE_JOBS, tags=OTHER) == JOBS - MAX_TAG_SETS


async def test_names_that_others_choose_leave_the_text_small(tmp_path: Path, sqlite_url: str) -> None:
    """A thousand lists of tags, names of projects, sources, reasons and methods, by the real application."""
    async with open_site(tmp_path, sqlite_url) as site, site.client(site.root) as client:
        metrics = site.services.metrics
        statuses = set()
        for _ in range(JOBS):
            metrics.handed_out([word(), word()], 1.0)
            metrics.created(word(), 3)
            metrics.folded("failed", word())
            metrics.swept_jobs(word(), 1)
        metrics.invariants({word(): 1 for _ in range(JOBS)}, 0.0)
        for path in ("/{}/{}", "/api/v4/projects/{}%2F{}", "/{}/{}.git/info/refs", "/api/v4/jobs/{}/{}"):
            for _ in range(JOBS // 10):
                response = await client.request(CHANCE.choice(["GET", word().upper()]), path.format(word(), word()))
                statuses.add(response.status_code)
        text = await exposition_of(site.services).text()
    found = Scrape(text.decode())
    assert len(text) < FEW_BYTES
    assert found.total(names.HAND_OUTS) == JOBS
    assert found.total(names.HTTP_REQUESTS) >= 4 * (JOBS // 10)
    assert len(found.labels(names.HTTP_REQUESTS)) <= 3 * 6 * len(statuses)
    assert max(len(found.labels(one)) for one in names.ALL if found.has(one) and not one.buckets) <= 100
