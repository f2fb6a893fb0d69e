"""What the activities of a pipeline do beside the SQL: whom they wake."""

import pytest

from activities.pipelines import PipelineActivities
from domain.messages import Command, Decision
from models import job_offers
from models.notifications import BRIDGES, JOBS, OUTBOX, Notifications
from models.repositories.queue import queue_counts
from tests.models.world import World, job

THREE = "one: {script: x, parallel: 3}\n"


class Heard(Notifications):
    """Remembers what was said of jobs; `broken` loses it, as a connection that is gone does."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: list[int] = []
        self.topics: list[str] = []
        self.visible: list[bool] = []
        self.broken = False
        self.world: World | None = None

    async def notify(self, topic: str, count: int = 1) -> None:
        """Remember whom, but for those who watch the pipeline."""
        if topic in {BRIDGES, OUTBOX}:
            self.topics.append(topic)

    async def tell(self, topic: str, text: str = "") -> None:
        """Remember."""
        assert topic == JOBS
        if self.broken:
            raise ConnectionResetError("on purpose")
        self.counts += job_offers.read(text).values()
        assert self.world is not None
        async with self.world.database.read() as connection:
            self.visible.append(set(job_offers.read(text)) == await queue_counts.present(connection))


async def heard_of(world: World, decision: Decision | None) -> list[str]:
    """Whom the activity wakes that records this decision."""
    heard = Heard()
    heard.world = world
    assert decision is not None
    await PipelineActivities(world.database, heard, world.now).offer_jobs(decision)
    return heard.topics


async def offering(world: World) -> tuple[PipelineActivities, Heard, Decision]:
    """The activities, what is heard of them, and a decision that offers three jobs."""
    heard = Heard()
    heard.world = world
    decision = await world.decision(await world.create(THREE))
    assert decision is not None
    assert len(decision.offers()) == 3
    return PipelineActivities(world.database, heard, world.now), heard, decision


async def test_one_notification_tells_of_all_jobs_of_an_offer_when_they_can_be_taken(world: World) -> None:
    activities, heard, decision = await offering(world)
    await activities.offer_jobs(decision)
    assert (heard.counts, heard.visible) == ([3], [True])


async def test_an_offer_that_is_tried_again_wakes_the_runners_that_nobody_has_woken(world: World) -> None:
    """The worker died between the commit and the notification."""
    activities, heard, decision = await offering(world)
    heard.broken = True
    with pytest.raises(ConnectionResetError):
        await activities.offer_jobs(decision)
    heard.broken = False
    await activities.offer_jobs(decision)
    assert (heard.counts, heard.visible) == ([3], [True])


async def test_what_runners_do_wakes_nobody_else(world: World) -> None:
    pipeline_id = await world.create("one: {script: x}\ntwo: {script: x, needs: [one]}\n")
    assert await heard_of(world, await world.decision(pipeline_id)) == []
    await world.end(await world.take())
    assert await heard_of(world, await world.decision(pipeline_id)) == []


async def test_a_bridge_that_becomes_pending_wakes_those_who_carry_out_bridges(world: World) -> None:
    pipeline_id = await world.create("go: {trigger: {include: child.yml}}\n")
    assert await heard_of(world, await world.decision(pipeline_id)) == [BRIDGES]


async def test_a_status_that_a_bridge_follows_wakes_those_who_carry_out_bridges(world: World) -> None:
    upstream = await world.begin("go: {trigger: {include: child.yml, strategy: depend}}\n")
    followed = await world.create(THREE)
    async with world.database.write() as connection:
        follows = job.update().where(job.c.pipeline_id == upstream).values(downstream_id=followed)
        await connection.execute(follows)
    assert await heard_of(world, await world.decision(followed)) == [BRIDGES]


async def test_what_temporal_must_hear_wakes_the_relay(world: World) -> None:
    waits = await world.create("one: {script: x, resource_group: room}\n")
    assert await heard_of(world, await world.decision(waits)) == [OUTBOX]
    canceled = await world.begin(THREE)
    assert await heard_of(world, await world.decision(canceled, Command("cancel_pipeline", "k"))) == [OUTBOX]
    redundant = await world.begin(THREE)
    jobs = tuple(row.id for row in await world.rows(job, pipeline_id=redundant))
    assert await heard_of(world, world.numbered(Decision(redundant, redundant=jobs))) == [OUTBOX]
