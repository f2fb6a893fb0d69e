"""Held polls: whom a new job wakes, what happens when a call is lost, and when the client is gone."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy.ext.asyncio import AsyncConnection

from api.runner import batched_claims, job_requests
from api.runner.batched_claims import ClientGone
from api.runner.contacts import EVERY
from auth.secret_token import digest
from domain.errors import Unavailable
from models.notifications import RUNNERS
from models.repositories.queue import candidates, claims, contacts, queue_counts
from models.repositories.queue.claims import Claim
from models.repositories.runners import runners
from settings import Settings, TimeLimits
from tests.api.runner.hang_up import hang_up
from tests.api.runner.world import World, opened_world
from tests.fault_point import held_at, is_blocked, side_by_side
from tests.waiting import HANGS, eventually

pytestmark = pytest.mark.both_databases

ONE = "one: {script: x}\n"


@pytest.fixture
async def hasty(tmp_path: Path, database_url: str) -> AsyncIterator[World]:
    """A world whose polls are held for very long, and look again very soon."""
    times = TimeLimits(long_poll=600, queue_rescan=0.1)
    async with opened_world(Settings(home=tmp_path, database_url=database_url, times=times)) as world:
        yield world


async def test_a_held_poll_finds_a_job_of_which_nobody_told(hasty: World) -> None:
    (asking,) = await hasty.held(1)
    await hasty.pipeline(ONE)
    assert (await asyncio.wait_for(asking, HANGS)).status_code == 201


async def offered_after_the_look(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job is offered when the next look has found nothing; what it asks for is known before."""
    await world.pipeline(ONE)
    await world.job()
    assert (await world.request()).status_code == 204
    look = queue_counts.present

    async def offered(connection: AsyncConnection) -> set[int]:
        monkeypatch.setattr(queue_counts, "present", look)
        found = await look(connection)
        await world.offer(ONE)
        return found

    monkeypatch.setattr(queue_counts, "present", offered)


async def test_a_job_that_is_offered_between_the_look_and_the_wait_is_not_missed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await offered_after_the_look(world, monkeypatch)
    ticket = await world.old_ticket()
    response = await asyncio.wait_for(world.request(last_update=ticket), HANGS)
    assert response.status_code == 201


async def test_an_offer_of_two_jobs_serves_two_of_three_that_wait(world: World) -> None:
    asking = await world.held(3)
    await world.offer("many: {script: x, parallel: 2}\n")
    served, waiting = await asyncio.wait(asking, timeout=HANGS, return_when=asyncio.FIRST_COMPLETED)
    while len(served) < 2:
        more, waiting = await asyncio.wait(waiting, timeout=HANGS, return_when=asyncio.FIRST_COMPLETED)
        assert more, "the second job was offered to nobody"
        served |= more
    assert len({(await task).json()["id"] for task in served}) == 2
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)


async def test_a_job_is_not_given_to_a_client_that_is_gone(world: World) -> None:
    """Nobody would read the response: the job stays in the queue, and the next runner gets it in its first hand-out."""
    await world.pipeline(ONE)
    sent = await hang_up(world)
    assert sent[0]["status"] == 499
    job = await world.job()
    assert (await world.row(job["id"])).hand_out == 1
    assert (await world.row(job["id"])).system_id == "s_tests"


async def test_a_process_that_is_about_to_stop_lets_held_polls_go(world: World) -> None:
    asking = await world.held(2)
    world.services.drain.begun = True
    world.services.polls.let_go()
    for response in await asyncio.wait_for(asyncio.gather(*asking), HANGS):
        assert response.status_code == 204
    late = await asyncio.wait_for(world.request(last_update="waiting"), HANGS)
    assert late.status_code == 204


class Looks:
    """Counts how often polls look for a job, and how many of those looks were in vain."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.all = self.in_vain = 0
        self._take = job_requests._take
        monkeypatch.setattr(job_requests, "_take", self)

    async def __call__(self, *given: Any) -> Any:
        """Look."""
        self.all += 1
        found = await self._take(*given)
        self.in_vain += found is None
        return found


async def let_go(tasks: Iterable["asyncio.Task[httpx.Response]"]) -> None:
    """End polls that nobody needs any more."""
    tasks = list(tasks)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_one_job_makes_one_of_twenty_held_polls_look(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    asking = await world.held(20)
    looks = Looks(monkeypatch)
    await world.offer(ONE)
    served, waiting = await asyncio.wait(asking, timeout=HANGS, return_when=asyncio.FIRST_COMPLETED)
    assert [task.result().status_code for task in served] == [201]
    assert (looks.all, len(world.services.polls._everybody())) == (1, 19)
    await let_go(waiting)


async def test_a_claim_that_is_rolled_back_calls_whoever_looked_past_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process has the job in its hands, and its client is gone, when the only runner that waits is called."""
    side_by_side(world.services.database)
    (asking,) = await world.held(1)
    pipeline_id = await world.pipeline(ONE)
    looks = Looks(monkeypatch)

    async def is_called_in_vain() -> bool:
        return looks.in_vain == 1 and len(world.services.polls._everybody()) == 1

    with suppress(ClientGone):
        async with batched_claims._claiming(world.services) as connection:
            assert await claims.take(connection, [Claim(world.runner_id)], world.services.clock()) != [None]
            await world.tell_of_jobs(pipeline_id)
            await eventually(is_called_in_vain, "the waiting runner has looked past the claim")
            raise ClientGone
    assert (await asyncio.wait_for(asking, HANGS)).status_code == 201


async def test_a_call_for_another_job_than_the_one_that_was_found_is_passed_on(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A poll finds a job at its first look; before it goes, it is called for a second one."""
    side_by_side(world.services.database)
    await world.pipeline(ONE)
    async with held_at(monkeypatch, batched_claims, "_answers", world.request(last_update="waiting")) as first:
        # It does not look by itself: a look would wait for the transaction of the first, and find the second job.
        (asking,) = await world.held(1, last_update=await world.new_ticket())
        await world.offer(ONE)

        async def is_called() -> bool:
            return len(world.services.polls._everybody()) == 1

        await eventually(is_called, "the first runner is called")
    assert first.result().status_code == 201
    assert (await asyncio.wait_for(asking, HANGS)).status_code == 201


async def change_runner(world: World, **values: Any) -> None:
    """Change the runner of tests, and tell of it."""
    async with world.services.database.write() as connection:
        await runners.change(connection, world.runner_id, **values)
    await world.services.notifications.tell(RUNNERS)


async def test_a_job_wakes_only_runners_that_may_take_it(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that waits longest has not its tag."""
    (plain,) = await world.held(1)
    tagged = await another_runner(world, tags=["gpu"])
    (asking,) = await world.held(1, token=tagged)
    looks = Looks(monkeypatch)
    await world.offer("one: {script: x, tags: [gpu]}\n")
    assert (await asyncio.wait_for(asking, HANGS)).status_code == 201
    assert looks.all == 1
    await let_go([plain])


async def another_runner(world: World, **values: Any) -> str:
    """The token of a second runner."""
    token = f"glrt-another-{world.runner_id}"
    async with world.services.database.write() as connection:
        await runners.create(connection, digest(token), world.services.clock(), **values)
    return token


async def test_a_waiting_runner_that_may_take_more_is_called_for_what_waits(world: World) -> None:
    await change_runner(world, paused=True)
    (asking,) = await world.held(1)
    await world.offer(ONE)
    assert await is_blocked(asking, 0.2)
    await change_runner(world, paused=False)
    assert (await asyncio.wait_for(asking, HANGS)).status_code == 201


async def test_a_change_of_which_nobody_told_is_seen_by_the_next_look(hasty: World) -> None:
    await change_runner(hasty, paused=True)
    (asking,) = await hasty.held(1)
    await hasty.pipeline(ONE)
    async with hasty.services.database.write() as connection:
        await runners.change(connection, hasty.runner_id, paused=False)
    assert (await asyncio.wait_for(asking, HANGS)).status_code == 201


async def ticket_of(world: World) -> str:
    """What a runner is given that has found nothing."""
    response = await world.request()
    assert response.status_code == 204
    return response.headers["X-GitLab-Last-Update"]


async def test_a_runner_whose_ticket_is_up_to_date_is_held_without_a_look(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticket = await ticket_of(world)

    async def nobody(*given: Any) -> set[int]:
        raise AssertionError(f"the queue is looked at: {given}")

    monkeypatch.setattr(queue_counts, "present", nobody)
    (asking,) = await world.held(1, last_update=ticket)
    await world.offer(ONE)
    assert (await asyncio.wait_for(asking, HANGS)).status_code == 201


async def test_a_job_that_came_while_the_runner_was_away_is_found_at_once(world: World) -> None:
    await world.pipeline(ONE)
    await world.job()  # what it asks for is known from now on
    ticket = await ticket_of(world)
    await world.offer(ONE)
    assert (await asyncio.wait_for(world.request(last_update=ticket), HANGS)).status_code == 201


async def test_a_job_that_came_during_the_look_is_found_by_the_next_request(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A runner without a ticket is not held: the call that it gets during its look goes to nobody."""
    await offered_after_the_look(world, monkeypatch)
    ticket = await ticket_of(world)
    assert (await asyncio.wait_for(world.request(last_update=ticket), HANGS)).status_code == 201


@pytest.mark.parametrize("ticket", ["waiting", "q1.0.00000000.99999.AAAAAAAAAAAAAAAAAAAAAA", "é" * 300])
async def test_a_ticket_that_is_none_costs_a_look_and_no_error(world: World, ticket: str) -> None:
    await world.pipeline(ONE)
    assert (await world.request(last_update=ticket)).status_code == 201


async def test_the_ticket_of_another_runner_costs_a_look(world: World) -> None:
    """Nothing happened since for that one, for it has not the tag."""
    ticket = await ticket_of(world)
    tagged = await another_runner(world, tags=["gpu"])
    await world.offer("one: {script: x, tags: [gpu]}\n")
    (asking,) = await world.held(1, last_update=ticket)
    assert (await asyncio.wait_for(world.request(token=tagged, last_update=ticket), HANGS)).status_code == 201
    await let_go([asking])


async def test_a_removed_runner_is_refused_although_it_was_known(world: World) -> None:
    assert (await world.request()).status_code == 204
    async with world.services.database.write() as connection:
        await runners.remove(connection, world.runner_id)
    await world.services.notifications.tell(RUNNERS)

    async def refused() -> bool:
        return (await world.request()).status_code == 403

    await eventually(refused, "the runner is refused", HANGS)


async def test_a_runner_with_a_token_that_was_replaced_gets_no_job_even_if_nobody_told(world: World) -> None:
    assert (await world.request()).status_code == 204
    await world.pipeline(ONE)
    async with world.services.database.write() as connection:
        await runners.rotate_token(connection, world.runner_id, digest("glrt-new"), None)
    assert (await world.request()).status_code == 204
    assert (await world.request(token="glrt-new")).status_code == 201


async def test_a_bad_token_that_was_shown_before_costs_no_query(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (await world.request(token="glrt-bad")).status_code == 403

    async def nobody(*given: Any) -> None:
        raise AssertionError(f"the database is asked: {given}")

    monkeypatch.setattr(candidates, "by_tokens", nobody)
    assert (await world.request(token="glrt-bad")).status_code == 403


def counted_writes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many contacts each write has from now on."""
    written = contacts.write
    sizes: list[int] = []

    async def counted(connection: AsyncConnection, given: Any, *more: Any) -> None:
        sizes.append(len(given))
        await written(connection, given, *more)

    monkeypatch.setattr(contacts, "write", counted)
    return sizes


def called(world: World, seconds: float) -> None:
    """Let the last contacts be so long ago."""
    noted = world.services.contacts._noted
    noted.update({key: moment - seconds for key, moment in noted.items()})


async def test_a_contact_after_a_long_silence_is_written_at_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = counted_writes(monkeypatch)
    await world.request()
    called(world, 3600)
    await world.request()
    assert sizes == [1, 1]


async def test_a_contact_that_cannot_be_written_comes_again_with_the_next_poll(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*given: Any) -> None:
        raise Unavailable("the database is away")

    with monkeypatch.context() as fault:
        fault.setattr(contacts, "write", broken)
        assert (await world.request()).status_code == 204
    sizes = counted_writes(monkeypatch)
    await world.request()
    assert sizes == [1]


async def test_contacts_of_many_polls_are_one_write(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is due again is collected; what is heard for the first time during a write is the next one."""
    sizes = counted_writes(monkeypatch)
    await asyncio.gather(*(world.request(system_id=f"s_{number % 3}") for number in range(6)))
    assert sum(sizes) == 3
    assert world.services.database.is_sqlite or len(sizes) <= 2  # there a write is over before the next poll is read
    sizes.clear()
    called(world, EVERY)
    for number in range(6):
        await world.request(system_id=f"s_{number % 3}")
    assert sizes == []
    await world.services.contacts.flush()
    await world.services.contacts.flush()
    assert sizes == [3]
    async with world.services.database.read() as connection:
        managers = await runners.managers_of(connection, world.runner_id)
        runner = await runners.get(connection, world.runner_id)
    assert {row.system_id for row in managers} == {"s_0", "s_1", "s_2"}
    assert runner is not None
    assert {row.contacted_at for row in managers} == {runner.contacted_at}


async def test_after_a_start_runners_come_back_at_different_moments(world: World) -> None:
    longest = world.services.settings.times.long_poll
    foreign = [job_requests._patience(world.services, "of-another-process", is_ours=False) for _ in range(500)]
    assert min(foreign) < longest / 4
    assert max(foreign) > longest * 3 / 4
    own = [job_requests._patience(world.services, "of-this-process", is_ours=True) for _ in range(500)]
    assert min(own) >= longest * (1 - job_requests._SPREAD)
    assert max([*own, *foreign]) <= longest
    assert len(set(own)) > 1
    assert job_requests._patience(world.services, "", is_ours=False) == 0
