"""What is told of jobs fits into notifications, and says the same when it is read."""

from models import job_offers
from models.notifications import JOBS, MAX_TEXT, Notifications
from models.repositories.queue import queue_counts
from tests.models.world import World

THREE = "one: {script: x, parallel: 2}\nother: {script: x, tags: [gpu]}\n"


def test_many_demands_are_told_in_pieces() -> None:
    found = {2**53 - number: 100_000 for number in range(5_000)}
    pieces = list(job_offers.texts(found))
    assert max(len(piece.encode()) for piece in pieces) <= MAX_TEXT
    read: dict[int, int] = {}
    for piece in pieces:
        read |= job_offers.read(piece)
    assert read == found


async def test_only_jobs_that_still_wait_are_told_of(world: World) -> None:
    heard: list[str] = []
    notifications = Notifications()
    notifications.listen(JOBS, heard.append)
    pipeline_id = await world.create(THREE)
    decision = await world.decision(pipeline_id)
    assert decision is not None
    await world.record(decision)
    await world.take()
    await job_offers.tell(world.database, notifications, decision.offers())
    async with world.database.read() as connection:
        found = await queue_counts.counts(connection)
        assert await queue_counts.present(connection) == set(found)
    assert sorted(found.values()) == [1, 1]
    assert [job_offers.read(text) for text in heard] == [found]
