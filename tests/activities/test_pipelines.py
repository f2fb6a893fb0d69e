"""What the activities of a pipeline do beside the SQL: whom they wake."""

import pytest

from activities.pipelines import PipelineActivities
from domain.messages import Decision
from models import job_offers
from models.notifications import JOBS, Notifications
from models.repositories import pending
from tests.models.world import World

THREE = "one: {script: x, parallel: 3}\n"


class Heard(Notifications):
    """Remembers what was said of jobs; `broken` loses it, as a connection that is gone does."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: list[int] = []
        self.visible: list[bool] = []
        self.broken = False
        self.world: World | None = None

    async def tell(self, topic: str, text: str = "") -> None:
        """Remember."""
        assert topic == JOBS
        if self.broken:
            raise ConnectionResetError("on purpose")
        self.counts += job_offers.read(text).values()
        assert self.world is not None
        async with self.world.database.read() as connection:
            self.visible.append(set(job_offers.read(text)) == await pending.present(connection))


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
