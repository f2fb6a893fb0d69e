"""Who is woken, and how many."""

import asyncio

from models.notifications import BRIDGES, JOBS, OUTBOX, RUNNERS, Notifications


def woken(waiters: list["asyncio.Future[None]"]) -> list[bool]:
    """Who was called."""
    return [waiter.done() for waiter in waiters]


async def test_as_many_are_woken_as_there_are_jobs_and_who_came_first_is_first() -> None:
    notifications = Notifications()
    waiters = [notifications.subscribe(BRIDGES) for _ in range(5)]
    await notifications.notify(BRIDGES, count=2)
    assert woken(waiters) == [True, True, False, False, False]
    await notifications.notify(OUTBOX, count=5)
    assert woken(waiters) == [True, True, False, False, False]
    await notifications.notify(BRIDGES, count=9)
    assert woken(waiters) == [True] * 5


async def test_a_waiter_that_has_left_takes_no_call_from_the_others() -> None:
    notifications = Notifications()
    gone, other = (notifications.subscribe(BRIDGES) for _ in range(2))
    notifications.leave(BRIDGES, gone)
    await notifications.notify(BRIDGES)
    assert other.done()


async def test_a_text_goes_to_the_listener_of_its_topic() -> None:
    notifications = Notifications()
    heard: list[str] = []
    notifications.listen(JOBS, heard.append)
    await notifications.tell(JOBS, "7:2")
    await notifications.tell(RUNNERS)
    assert heard == ["7:2"]
