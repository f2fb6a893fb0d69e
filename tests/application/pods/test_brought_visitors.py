"""Whom a move has brought to a pod that they never visited: home hears of it from the pod that they had visited."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import update

from application.pods.brought_visitors import tell_homes
from application.pods.cross_pod_people import person_of_pod
from application.pods.visitor_states import tell_visited_pods
from domain.pods.directory import Directory, Pod, PodState
from models.repositories.accounts import accounts, visits
from tests.application.bridges.two_pods import PERSON, TwoPods, two_pods

THIRD = 2
"""The pod that the far pod's organisation has moved to."""


@pytest.fixture
async def two(tmp_path: Path) -> AsyncIterator[TwoPods]:
    """Somebody has visited the far pod, from which what was theirs has moved to a third one."""
    async with two_pods(tmp_path, ("", "")) as both:
        await note_ticket(both)
        async with both.far.here.world.database.write() as connection:
            await visits.bring(connection, [(0, both.ada)], THIRD, both.far.here.world.now())
        know(both, *both.directory.pods, Pod(THIRD, "third", "third:1"))
        yield both


def know(two: TwoPods, *pods: Pod) -> None:
    """What both pods have heard of the directory."""
    two.directory = Directory(2, pods, two.organisations)
    for pod in (two.near, two.far):
        pod.cluster.follower._directory = two.directory


async def note_ticket(two: TwoPods) -> None:
    async with two.near.here.world.database.write() as connection:
        await visits.note_ticket(connection, two.ada, 1, two.near.here.world.now())


async def tell(two: TwoPods) -> list[int]:
    """What home answers when it is told what is to be told now."""
    two.line.seen.clear()
    two.line.statuses.clear()
    await tell_homes(two.far.here.site.services, two.far.cluster)
    return two.line.statuses or [0] * len(two.line.seen)


async def visited(two: TwoPods) -> list[int]:
    async with two.near.here.world.database.read() as connection:
        return [row.pod_number for row in await visits.of_person(connection, two.ada)]


async def is_owed(two: TwoPods) -> bool:
    """Whether home is still to hear of it."""
    async with two.far.here.world.database.read() as connection:
        return bool(await visits.brought_due(connection, two.far.here.world.now() + timedelta(days=9), 9))


async def later(two: TwoPods, pause: timedelta, *, since_the_move: timedelta = timedelta(0)) -> None:
    """Time passes."""
    table = visits.brought
    async with two.far.here.world.database.write() as connection:
        (row,) = await visits.brought_due(connection, two.far.here.world.now() + timedelta(days=9), 9)
        values = {"tell_after": row.tell_after - pause if row.tell_after else None}
        await connection.execute(update(table).values(**values, moved_at=row.moved_at - since_the_move))


async def speaks(two: TwoPods) -> bool:
    """Whether home believes the third pod that its person acts there."""
    found = await person_of_pod(two.near.here.site.services, two.directory, THIRD, PERSON, two.ada)
    return found is not None


async def test_home_believes_the_third_pod_and_tells_it_of_a_block(two: TwoPods) -> None:
    assert not await speaks(two)
    assert await tell(two) == [200]
    assert (await visited(two), await is_owed(two), await speaks(two)) == ([1, THIRD], False, True)
    assert await tell(two) == []
    assert await told_by_home(two) == ["third"], "which may have a row of before"
    async with two.near.here.world.database.write() as connection:
        await accounts.change(connection, two.ada, state="blocked")
        await visits.tell_now(connection, two.ada)
    assert await told_by_home(two) == ["far", "third"]


async def told_by_home(two: TwoPods) -> list[str]:
    """Which pods home tells how its person is; all are away, and it is seen whom home calls."""
    two.line.seen.clear()
    two.line.lose_requests = 2
    await tell_visited_pods(two.near.here.site.services, two.near.cluster)
    two.line.lose_requests = 0
    assert {method for method, _ in two.line.seen} == {"PUT"}
    return [url.removesuffix(f"/-/pods/visitors/{two.ada}") for _, url in two.line.seen]


async def test_a_home_that_is_away_hears_later_and_a_lost_response_is_no_harm(two: TwoPods) -> None:
    two.line.lose_requests = 1
    assert await tell(two) == [0]
    assert await tell(two) == []
    await later(two, timedelta(seconds=31))
    two.line.lose_responses = 1
    assert await tell(two) == [200]
    assert (await visited(two), await is_owed(two)) == ([1, THIRD], True)
    await later(two, timedelta(seconds=31))
    assert await tell(two) == [200]
    assert (await visited(two), await is_owed(two)) == ([1, THIRD], False)


async def test_a_home_that_is_away_is_called_once_a_round(two: TwoPods) -> None:
    async with two.far.here.world.database.write() as connection:
        await visits.bring(connection, [(0, 4711)], THIRD, two.far.here.world.now())
    two.line.lose_requests = 2
    assert await tell(two) == [0]


async def test_a_pod_that_somebody_does_not_visit_has_no_say_where_they_are(two: TwoPods) -> None:
    """It is asked again for a day: the move that has brought them there may not have been heard of yet."""
    async with two.near.here.world.database.write() as connection:
        await connection.execute(visits.visit.delete())
    assert await tell(two) == [403]
    assert await visited(two) == []
    await later(two, timedelta(seconds=31))
    assert await tell(two) == []
    await note_ticket(two)
    await later(two, timedelta(hours=1))
    assert await tell(two) == [200]
    assert (await visited(two), await is_owed(two)) == ([1, THIRD], False)


async def test_who_is_refused_for_a_day_asks_no_more(two: TwoPods) -> None:
    third = two.directory.by_number[THIRD]
    know(two, *two.directory.pods[:2], replace(third, state=PodState.REMOVED))
    assert (await tell(two), await is_owed(two)) == ([403], True)
    await later(two, timedelta(hours=1), since_the_move=timedelta(days=1))
    assert (await tell(two), await is_owed(two), await visited(two)) == ([403], False, [1])


async def test_a_home_that_is_gone_is_told_no_more(two: TwoPods) -> None:
    near = two.directory.by_number[0]
    know(two, replace(near, state=PodState.REMOVED), *two.directory.pods[1:])
    assert (await tell(two), await is_owed(two)) == ([], False)


async def test_home_itself_is_no_visit(two: TwoPods) -> None:
    async with two.far.here.world.database.write() as connection:
        await connection.execute(update(visits.brought).values(pod_number=0))
    assert (await tell(two), await visited(two)) == ([403], [1])


async def test_a_visit_by_a_ticket_stays_what_it_is(two: TwoPods) -> None:
    now = two.near.here.world.now()
    async with two.near.here.world.database.write() as connection:
        await visits.note_ticket(connection, two.ada, THIRD, now - timedelta(days=3))
    assert await tell(two) == [200]
    async with two.near.here.world.database.read() as connection:
        rows = await visits.of_person(connection, two.ada)
    assert rows[-1].last_ticket_at == now - timedelta(days=3)
