"""Who is woken, and how many."""

import asyncio

from models.notifications import JOBS, OUTBOX, Notifications


def woken(waiters: list["asyncio.Future[int]"]) -> list[bool]:
    """Who was called."""
    return [waiter.done() for waiter in waiters]


async def test_as_many_are_woken_as_there_are_jobs_and_who_came_first_is_first() -> None:
    notifications = Notifications()
    waiters = [notifications.subscribe(JOBS) for _ in range(5)]
    await notifications.notify(JOBS, count=2)
    assert woken(waiters) == [True, True, False, False, False]
    await notifications.notify(OUTBOX, count=5)
    assert woken(waiters) == [True, True, False, False, False]
    await notifications.notify(JOBS, count=9)
    assert woken(waiters) == [True] * 5


async def test_a_waiter_that_has_left_takes_no_call_from_the_others() -> None:
    notifications = Notifications()
    gone, other = (notifications.subscribe(JOBS) for _ in range(2))
    notifications.leave(JOBS, gone)
    await notifications.notify(JOBS)
    assert other.done()


async def test_a_call_that_was_in_vain_goes_round_once_and_then_ends() -> None:
    notifications = Notifications()
    waiters = [notifications.subscribe(JOBS) for _ in range(3)]
    await notifications.notify(JOBS)
    for called, others in ((0, [True, True, False]), (1, [True, True, True])):
        notifications.pass_on(JOBS, waiters[called])
        assert woken(waiters) == others
    late = notifications.subscribe(JOBS)
    notifications.pass_on(JOBS, waiters[2])
    assert not late.done()
