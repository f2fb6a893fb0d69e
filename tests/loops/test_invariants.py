"""The loop that tells the metrics of broken rules."""

from prometheus_client import generate_latest
from sqlalchemy import delete, insert

from domain.pipelines.invariants import Rule
from loops.invariants import MAX_BATCH, TOLD, InvariantLoop
from metrics import names
from metrics.server_metrics import ServerMetrics
from models.repositories.queue import leases
from settings import TimeLimits
from tests.metrics.scraping import Scrape
from tests.models.world import World


class Watched:
    """A loop that is called by hand, and what it told."""

    def __init__(self, world: World) -> None:
        self.metrics = ServerMetrics()
        self._loop = InvariantLoop(world.database, self.metrics, world.now, TimeLimits(), between=0)

    async def broken(self) -> dict[str, float]:
        """Look once; the rules that the metrics say are broken."""
        await self._loop.look()
        found = Scrape(generate_latest(self.metrics.registry).decode())
        assert len(found.labels(names.INVARIANTS_BROKEN)) == len(TOLD), "zeros are told too"
        return {rule: rows for rule in TOLD if (rows := found.total(names.INVARIANTS_BROKEN, rule=rule))}


async def test_nothing_is_broken_on_the_way_of_a_job(world: World) -> None:
    watched = Watched(world)
    pipeline_id = await world.begin("build: {script: make}")
    found = [await watched.broken()]
    job_id = await world.take()
    found.append(await watched.broken())
    await world.end(job_id)
    found.append(await watched.broken())
    await world.settle(pipeline_id)
    found.append(await watched.broken())
    assert found == [{}] * 4


async def test_what_is_broken_is_told_until_it_is_mended(world: World) -> None:
    watched = Watched(world)
    await world.begin("build: {script: make}")
    await world.take()
    (lost,) = await world.rows(leases.lease)
    async with world.database.write() as connection:
        await connection.execute(delete(leases.lease))
    assert await watched.broken() == await watched.broken() == {Rule.RUNNING_WITHOUT_LEASE: 1}
    async with world.database.write() as connection:
        await connection.execute(insert(leases.lease).values(**lost._mapping))
    assert await watched.broken() == {}


async def test_more_pipelines_than_one_look_takes_are_looked_at_in_turn(world: World) -> None:
    """The broken one is the last, and is known from then on."""
    watched = Watched(world)
    for _ in range(MAX_BATCH):
        await world.create("build: {script: make}")
    await world.begin("last: {script: make}")
    await world.take()
    async with world.database.write() as connection:
        await connection.execute(delete(leases.lease))
    found = [await watched.broken() for _ in range(3)]
    assert found == [{}, {Rule.RUNNING_WITHOUT_LEASE: 1}, {Rule.RUNNING_WITHOUT_LEASE: 1}]
