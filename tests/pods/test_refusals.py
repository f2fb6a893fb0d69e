"""Refused tokens: the first ones at once, the others late, and nobody else waits."""

import asyncio
import time

import aiohttp
from aiohttp import web

from pods.front import serving
from pods.refusals import Refusals
from settings import FrontLimits
from tests.pods.upstreams import front_settings, http_upstream


def test_so_many_in_a_minute_are_prompt() -> None:
    refusals = Refusals(FrontLimits(prompt_refusals=3, refusal_pause=2.0))
    assert [refusals.pause("a", 0.0) for _ in range(5)] == [0, 0, 0, 2, 2]
    assert refusals.pause("b", 0.0) == 0
    assert [refusals.pause("a", 20.0), refusals.pause("a", 20.0)] == [0, 2]
    assert [refusals.pause("a", 1_000.0) for _ in range(4)] == [0, 0, 0, 2]


async def test_a_bad_token_stays_403_and_a_good_one_does_not_wait() -> None:
    async def api(request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(status=204 if request.headers["RUNNER-TOKEN"] == "good" else 403)

    async def ask(token: str) -> tuple[int, float]:
        begun = time.monotonic()
        async with client.get(f"{settings.url}/x", headers={"RUNNER-TOKEN": token}) as answer:
            return answer.status, time.monotonic() - begun

    settings = front_settings(prompt_refusals=2, refusal_pause=2.0)
    async with serving(settings), http_upstream(settings.api_port, api), aiohttp.ClientSession() as client:
        bad = asyncio.gather(*(ask(f"bad {number}") for number in range(5)))
        good = [await ask("good") for _ in range(5)]
        assert not bad.done()
        assert {status for status, _ in good} == {204}
        assert {status for status, _ in await bad} == {403}
        assert sum(seconds >= 2 for _, seconds in await bad) == 3
