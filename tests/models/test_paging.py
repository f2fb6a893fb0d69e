"""Long lists are counted without reading what is in them."""

import pytest

from models.repositories.paging import Listing, counting
from models.repositories.pipelines import jobs
from models.repositories.runners import runner_listings
from models.repositories.runners.runner_listings import JobFilter
from models.rows.pipelines import ListedJobRow
from models.session import Database
from tests.models.database import migrated
from tests.models.query_plans import multiply, query_plan
from tests.models.world import World, job

LISTS = {"of a project": jobs.of_project(1), "of a runner": runner_listings.jobs_of(1, JobFilter())}


@pytest.mark.parametrize("listing", LISTS.values(), ids=LISTS)
async def test_jobs_are_counted_by_an_index_alone(sqlite_url: str, listing: Listing[ListedJobRow]) -> None:
    """The first 10,000 jobs of a large project took 27 ms when their rows were read, and take half a millisecond."""
    async with migrated(Database(sqlite_url)) as database:
        world = await World.make(database)
        await world.create("a: {script: x}\n", "main")
        await multiply(world, job, (await world.row(job)).id, lambda step: {"first_id": None})
        assert "COVERING INDEX" in await query_plan(world, counting(listing.statement), {})
