"""Who is blocked at home is blocked in the pods that they have visited, and let in there when home does."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import update

from application.pods.visitor_states import hear_of_visitor, tell_visited_pods
from domain.pods.visits import VisitorState
from models.repositories.accounts import accounts, visits
from models.repositories.accounts.visits import UntoldVisit
from tests.api.v4.site import Person
from tests.application.bridges.two_pods import PERSON, TwoPods, two_pods


@pytest.fixture
async def two(tmp_path: Path) -> AsyncIterator[TwoPods]:
    """Somebody has visited the far pod, and has a token there."""
    async with two_pods(tmp_path, ("", "")) as both:
        async with both.near.here.world.database.write() as connection:
            await visits.note_ticket(connection, both.ada, 1, both.near.here.world.now())
        yield both


async def set_state(two: TwoPods, verb: str, *, far: bool = False) -> int:
    """Somebody is blocked or unblocked, at home or in the far pod; the status of the response."""
    pod, user_id = (two.far, two.visitor) if far else (two.near, two.ada)
    async with pod.here.site.client(pod.here.site.root) as client:
        return (await client.post(f"/api/v4/users/{user_id}/{verb}")).status_code


async def tell(two: TwoPods) -> int:
    """Home tells what is to be told now; how many calls that were."""
    two.line.seen.clear()
    await tell_visited_pods(two.near.here.site.services, two.near.cluster)
    return len(two.line.seen)


async def state_there(two: TwoPods) -> str:
    async with two.far.here.world.database.read() as connection:
        return str((await accounts.get(connection, two.visitor)).state)


async def enters(two: TwoPods, person: Person) -> bool:
    """Whether a token of the far pod is good."""
    async with two.far.here.site.client(person) as client:
        return (await client.get("/api/v4/user")).status_code == 200


async def later(two: TwoPods, pause: timedelta) -> None:
    """Time passes until somebody is told again."""
    table = visits.visit
    async with two.near.here.world.database.write() as connection:
        (row,) = await visits.of_person(connection, two.ada)
        assert row.tell_after is not None
        await connection.execute(update(table).values(tell_after=row.tell_after - pause))


async def test_who_is_blocked_at_home_is_blocked_there_until_home_lets_them_in(two: TwoPods) -> None:
    person = await two.far.here.site.with_token(two.visitor, PERSON)
    assert await tell(two) == 0
    assert await set_state(two, "block") == 201
    assert await tell(two) == 1
    assert (await state_there(two), await enters(two, person)) == ("blocked_at_home", False)
    assert await tell(two) == 0, "it was told"
    async with two.far.here.site.client(two.far.here.site.root) as client:
        listed = (await client.get("/api/v4/users?blocked=true")).json()
        events = (await client.get("/api/v4/audit_events?entity_type=User")).json()
    assert [(one["username"], one["state"]) for one in listed] == [(PERSON, "blocked_at_home")]
    assert "user_blocked" in str(events)
    assert await set_state(two, "unblock") == 201
    assert await tell(two) == 1
    assert (await state_there(two), await enters(two, person)) == ("active", True)
    assert await tell(two) == 0


async def test_whom_the_visited_pod_has_blocked_home_does_not_let_in(two: TwoPods) -> None:
    assert await set_state(two, "block", far=True) == 201
    for verb in ("block", "unblock"):
        assert await set_state(two, verb) == 201
        await tell(two)
        assert await state_there(two) == "blocked"
    assert await set_state(two, "unblock", far=True) == 201
    assert await state_there(two) == "active"


async def test_whom_home_has_blocked_nobody_lets_in_there(two: TwoPods) -> None:
    await set_state(two, "block")
    await tell(two)
    async with two.far.here.site.client(two.far.here.site.root) as client:
        refused = await client.post(f"/api/v4/users/{two.visitor}/unblock")
    assert (refused.status_code, await state_there(two)) == (403, "blocked_at_home")
    assert refused.json()["message"].endswith(
        "ada is a visitor here; they are blocked, and can be let in again, in pod near."
    )


async def test_a_pod_that_is_away_is_told_later(two: TwoPods) -> None:
    await set_state(two, "block")
    two.line.lose_requests = 1
    assert await tell(two) == 1
    assert (await tell(two), await state_there(two)) == (0, "active")
    await later(two, timedelta(seconds=31))
    assert (await tell(two), await state_there(two)) == (1, "blocked_at_home")


async def test_a_pod_that_is_away_is_called_once_a_round(two: TwoPods) -> None:
    grace = await two.near.here.site.person("grace")
    async with two.near.here.world.database.write() as connection:
        await visits.note_ticket(connection, grace.id, 1, two.near.here.world.now())
        for person in (two.ada, grace.id):
            await accounts.change(connection, person, state="blocked")
    two.line.lose_requests = 1
    assert (await tell(two), await tell(two)) == (1, 0)
    await later(two, timedelta(seconds=31))
    assert (await tell(two), await state_there(two)) == (2, "blocked_at_home")


async def test_a_lost_response_is_no_harm(two: TwoPods) -> None:
    await set_state(two, "block")
    two.line.lose_responses = 1
    await tell(two)
    assert await state_there(two) == "blocked_at_home"
    await later(two, timedelta(seconds=31))
    assert (await tell(two), await tell(two)) == (1, 0)


async def test_whose_block_was_heard_but_not_answered_is_let_in_again(two: TwoPods) -> None:
    await set_state(two, "block")
    two.line.lose_responses = 1
    await tell(two)
    await set_state(two, "unblock")
    assert (await tell(two), await state_there(two)) == (1, "active")


async def test_a_pod_hears_of_a_block_again_and_again(two: TwoPods) -> None:
    """It may have come back from a backup."""
    await set_state(two, "block")
    await tell(two)
    await two.set_account(state="active")
    assert await tell(two) == 0
    await later(two, timedelta(hours=1, seconds=1))
    assert (await tell(two), await state_there(two)) == (1, "blocked_at_home")


async def test_what_changes_while_a_pod_is_told_is_told_next(two: TwoPods) -> None:
    await set_state(two, "block")
    stale = UntoldVisit(two.ada, 1, "active")
    async with two.near.here.world.database.write() as connection:
        await visits.note_told(connection, stale, None, is_blocked=False)
        (row,) = await visits.of_person(connection, two.ada)
    assert not row.told_blocked
    assert (await tell(two), await state_there(two)) == (1, "blocked_at_home")


async def test_a_pod_speaks_for_its_own_people_only(two: TwoPods) -> None:
    services = two.far.here.site.services
    far = two.directory.by_number[1]
    await hear_of_visitor(services, far, two.ada, VisitorState(is_blocked=True))
    await hear_of_visitor(services, two.directory.by_number[0], two.ada + 7, VisitorState(is_blocked=True))
    assert await state_there(two) == "active"
    root = two.far.here.site.root
    async with two.far.here.site.client(root) as client:
        assert (await client.get("/api/v4/user")).json()["state"] == "active"
