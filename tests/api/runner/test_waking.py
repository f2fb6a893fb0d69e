"""Held polls: whom a new job wakes, what happens when a call is lost, and when the client is gone."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
from sqlalchemy.ext.asyncio import AsyncConnection

from api.app import create_app
from api.runner import requests
from api.startup import close_services, open_services
from models.clock import system_clock
from models.notifications import JOBS
from models.repositories import claims
from models.repositories.claims import Claim
from settings import Settings, TimeLimits
from tests.api.runner.world import RUNNER_TOKEN, World, make_world
from tests.fault_point import held_at, side_by_side
from tests.waiting import eventually

SOON = 6.0
"""Less than the time after which a held poll looks by itself."""
ONE = "one: {script: x}\n"


@pytest.fixture
async def hasty(tmp_path: Path, database_url: str) -> AsyncIterator[World]:
    """A world whose polls are held for very long, and look again very soon."""
    times = TimeLimits(long_poll=600, queue_rescan=0.1)
    services = await open_services(Settings(home=tmp_path, database_url=database_url, times=times), system_clock)
    transport = httpx.ASGITransport(create_app(services))
    try:
        async with httpx.AsyncClient(transport=transport, base_url="http://perdure.test") as client:
            yield await make_world(services, client)
    finally:
        await close_services(services)


async def held(world: World, polls: int) -> list["asyncio.Task[httpx.Response]"]:
    """So many polls that are held."""
    asking = [asyncio.create_task(world.request(last_update="waiting")) for _ in range(polls)]

    async def wait() -> bool:
        return len(world.services.notifications._waiters.get(JOBS, ())) == polls

    await eventually(wait, f"{polls} polls are held")
    return asking


async def test_a_held_poll_finds_a_job_of_which_nobody_told(hasty: World) -> None:
    (asking,) = await held(hasty, 1)
    await hasty.pipeline(ONE)
    assert (await asyncio.wait_for(asking, SOON)).status_code == 201


async def test_a_job_that_is_offered_between_the_look_and_the_wait_is_not_missed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = claims.any_for

    async def offered_after(connection: AsyncConnection, claim: Claim) -> bool:
        monkeypatch.setattr(claims, "any_for", look)
        found = await look(connection, claim)
        await world.pipeline(ONE)
        await world.services.notifications.notify(JOBS, 1)
        return found

    monkeypatch.setattr(claims, "any_for", offered_after)
    answer = await asyncio.wait_for(world.request(last_update="waiting"), SOON)
    assert answer.status_code == 201


async def test_an_offer_of_two_jobs_serves_two_of_three_that_wait(world: World) -> None:
    asking = await held(world, 3)
    await world.pipeline("many: {script: x, parallel: 2}\n")
    await world.services.notifications.notify(JOBS, 2)
    served, waiting = await asyncio.wait(asking, timeout=SOON, return_when=asyncio.FIRST_COMPLETED)
    while len(served) < 2:
        more, waiting = await asyncio.wait(waiting, timeout=SOON, return_when=asyncio.FIRST_COMPLETED)
        assert more, "the second job was offered to nobody"
        served |= more
    assert len({(await task).json()["id"] for task in served}) == 2
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)


async def hang_up(world: World) -> list[dict[str, Any]]:
    """Ask for a job, and be gone when the answer comes; what would have been sent."""
    body = orjson.dumps({"token": RUNNER_TOKEN, "system_id": "s_gone"})
    messages = [{"type": "http.request", "body": body, "more_body": False}]
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return messages.pop(0) if messages else {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": "/api/v4/jobs/request",
        "raw_path": b"/api/v4/jobs/request",
        "query_string": b"",
        "root_path": "",
        "headers": [(b"host", b"perdure.test")],
        "client": ("127.0.0.1", 1),
        "server": ("perdure.test", 80),
    }
    await create_app(world.services)(scope, receive, send)  # type: ignore[arg-type]
    return sent


async def test_a_job_is_not_given_to_a_client_that_is_gone(world: World) -> None:
    """Nobody would read the answer: the job stays in the queue, and the next runner gets it in its first hand-out."""
    await world.pipeline(ONE)
    sent = await hang_up(world)
    assert sent[0]["status"] == 499
    job = await world.job()
    assert (await world.row(job["id"])).hand_out == 1
    assert (await world.row(job["id"])).system_id == "s_tests"


async def test_a_process_that_is_about_to_stop_lets_held_polls_go(world: World) -> None:
    asking = await held(world, 2)
    world.services.drain.begun = True
    await world.services.notifications.stop()
    for answer in await asyncio.wait_for(asyncio.gather(*asking), SOON):
        assert answer.status_code == 204
    late = await asyncio.wait_for(world.request(last_update="waiting"), SOON)
    assert late.status_code == 204


class Looks:
    """Counts how often polls look for a job, and how many of those looks were in vain."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.all = self.in_vain = 0
        self._take = requests._take
        monkeypatch.setattr(requests, "_take", self)

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
    asking = await held(world, 20)
    looks = Looks(monkeypatch)
    await world.pipeline(ONE)
    await world.services.notifications.notify(JOBS, 1)
    served, waiting = await asyncio.wait(asking, timeout=SOON, return_when=asyncio.FIRST_COMPLETED)
    assert [task.result().status_code for task in served] == [201]
    assert (looks.all, len(world.services.notifications._waiters[JOBS])) == (1, 19)
    await let_go(waiting)


async def test_a_claim_that_is_rolled_back_calls_whoever_looked_past_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The job is in the hands of a client that is about to be gone, when the only runner that waits is called."""
    side_by_side(world.services.database)
    (asking,) = await held(world, 1)
    await world.pipeline(ONE)
    async with held_at(monkeypatch, requests, "_prepared", hang_up(world)) as leaving:
        looks = Looks(monkeypatch)
        await world.services.notifications.notify(JOBS, 1)

        async def is_called_in_vain() -> bool:
            return looks.in_vain == 1 and len(world.services.notifications._waiters[JOBS]) == 1

        await eventually(is_called_in_vain, "the waiting runner has looked past the claim")
    assert leaving.result()[0]["status"] == 499
    assert (await asyncio.wait_for(asking, SOON)).status_code == 201


async def test_a_call_for_another_job_than_the_one_that_was_found_is_passed_on(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A poll finds a job at its first look; before it goes, it is called for a second one."""
    side_by_side(world.services.database)
    await world.pipeline(ONE)
    async with held_at(monkeypatch, requests, "_prepared", world.request(last_update="waiting")) as first:
        asking = asyncio.create_task(world.request(last_update="waiting"))

        async def both_wait() -> bool:
            return len(world.services.notifications._waiters.get(JOBS, ())) == 2 and not world.services.queue.is_busy

        await eventually(both_wait, "the second runner has looked and waits")
        await world.pipeline(ONE)
        await world.services.notifications.notify(JOBS, 1)

        async def is_called() -> bool:
            return len(world.services.notifications._waiters.get(JOBS, ())) == 1

        await eventually(is_called, "the first runner is called")
    assert first.result().status_code == 201
    assert (await asyncio.wait_for(asking, SOON)).status_code == 201
