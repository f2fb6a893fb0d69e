"""Refused tokens: the first ones at once, the others late, and nobody else waits."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.refusals import Refusals
from rigs.ports import LOCAL
from settings import RefusalLimits
from tests.api.runner.world import RUNNER_TOKEN
from tests.api.v4.site import Site, open_site, serving
from tests.security.attacked_front import api_with_a_job
from tests.waiting import eventually

NEVER = 3_600.0
"""Seconds: whoever is held waits for longer than any test."""


@asynccontextmanager
async def served(folder: Path, **limits: Any) -> AsyncIterator[tuple[Site, httpx.AsyncClient]]:
    """An installation behind a real web server, with these limits, and a client of it."""
    refusals = RefusalLimits(**{"refusal_pause": NEVER, **limits})
    async with open_site(folder, "", refusals=refusals) as site, serving(site) as url, caller(url) as client:
        yield site, client


def caller(url: str) -> httpx.AsyncClient:
    """A client."""
    return httpx.AsyncClient(base_url=url, trust_env=False, timeout=60)


async def ask(client: httpx.AsyncClient, token: str = "glrt-guessed", **headers: str) -> int:
    """The status of a request for a job."""
    body = {"token": token, "system_id": "s_tests"}
    return (await client.post("/api/v4/jobs/request", json=body, headers=headers)).status_code


async def held(site: Site, number: int) -> None:
    """Return when so many answers are held back."""

    async def are() -> bool:
        return site.services.refusals.held == number

    await eventually(are, f"{number} are held")


def test_those_beyond_the_prompt_ones_take_turns() -> None:
    refusals = Refusals(RefusalLimits(prompt_refusals=3, refusal_pause=50.0))
    assert [refusals.turn(b"a", 0.0) for _ in range(7)] == pytest.approx([0, 0, 0, 20, 40, 50, 50])
    assert refusals.turn(b"b", 0.0) == 0
    assert [refusals.turn(b"a", 30.0), refusals.turn(b"a", 30.0)] == pytest.approx([40, 50])
    assert [refusals.turn(b"a", 1_000.0) for _ in range(4)] == pytest.approx([0, 0, 0, 20])


def test_without_a_pause_none_waits() -> None:
    refusals = Refusals(RefusalLimits(prompt_refusals=1, refusal_pause=0))
    assert {refusals.turn(b"a", 0.0) for _ in range(5)} == {0}


async def test_a_bad_token_stays_403_and_a_good_one_does_not_wait(tmp_path: Path) -> None:
    async with served(tmp_path, prompt_refusals=2) as (site, client):
        assert [await ask(client) for _ in range(2)] == [403, 403]
        late = [asyncio.create_task(ask(client)) for _ in range(3)]
        await held(site, 3)
        assert await ask(client, RUNNER_TOKEN) == 204
        assert await ask(client, **{"X-Forwarded-For": "192.0.2.1"}) == 403, "another address waits too"
        assert site.services.refusals.held == 3
        site.services.refusals.let_go()
        assert await asyncio.gather(*late, ask(client)) == [403] * 4
        assert site.services.refusals.held == 0


async def test_a_refusal_that_had_its_turn_is_sent(tmp_path: Path) -> None:
    async with served(tmp_path, prompt_refusals=1, refusal_pause=0.2) as (site, client):
        assert [await ask(client) for _ in range(4)] == [403] * 4
        assert site.services.refusals.held == 0


async def test_who_goes_frees_its_place(tmp_path: Path) -> None:
    request = b"POST /api/v4/jobs/1/artifacts HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n"
    async with served(tmp_path, prompt_refusals=1) as (site, client):
        assert await ask(client) == 403
        _, writer = await asyncio.open_connection(LOCAL, site.services.settings.api_port)
        writer.write(request)
        await held(site, 1)
        writer.close()
        await held(site, 0)


async def test_beyond_the_places_the_answer_comes_at_once(tmp_path: Path) -> None:
    async with served(tmp_path, prompt_refusals=1, held_refusals=1) as (site, client):
        assert await ask(client) == 403
        late = asyncio.create_task(ask(client))
        await held(site, 1)
        assert await ask(client) == 403
        assert not late.done()
        site.services.refusals.let_go()
        assert await late == 403


async def test_what_nobody_guessed_is_not_counted(tmp_path: Path) -> None:
    """Git asks without a password first, and a job that was canceled hears so at its next call."""
    async with served(tmp_path, prompt_refusals=1) as (site, client):
        await site.world.pipeline("build: {script: make}\n")
        job = await site.world.job()
        await site.world.put(job, "success", b"")
        for _ in range(3):
            response = await client.get(f"/{await site.path()}.git/info/refs?service=git-upload-pack")
            assert response.status_code == 401
            response = await client.put(f"/api/v4/jobs/{job['id']}", json={"token": job["token"], "state": "running"})
            assert (response.status_code, response.headers["Job-Status"]) == (403, "success")
        assert (await client.get("/api/v4/user", headers={"PRIVATE-TOKEN": "glpat-guessed"})).status_code == 401
        late = asyncio.create_task(client.get("/api/v4/user?private_token=glpat-guessed"))
        await held(site, 1)
        site.services.refusals.let_go()
        assert (await late).status_code == 401


@pytest.mark.slow
async def test_a_process_that_is_about_to_stop_sends_what_it_holds(tmp_path: Path) -> None:
    limits = {"prompt_refusals": 1, "refusal_pause": NEVER}
    async with api_with_a_job(tmp_path, **limits) as api, caller(api.url) as client:
        assert await ask(client) == 403
        late = asyncio.create_task(ask(client))
        assert await ask(client, RUNNER_TOKEN) == 201
        assert not late.done()
        await api.stop()
        assert await late == 403


@pytest.mark.slow
@pytest.mark.parametrize(("trusted", "found"), [("10.0.0.0/8,127.0.0.1", "203.0.113.9"), ("192.0.2.1", LOCAL)])
async def test_only_a_front_says_where_a_call_comes_from(tmp_path: Path, trusted: str, found: str) -> None:
    """What the client itself claims stands first."""
    async with api_with_a_job(tmp_path, trusted_proxies=trusted) as api, api.client() as client:
        assert await ask(client, RUNNER_TOKEN, **{"X-Forwarded-For": "198.51.100.1, 203.0.113.9, 10.0.0.7"}) == 201
        (runner,) = (await client.get("/api/v4/runners/all")).json()
        managers = (await client.get(f"/api/v4/runners/{runner['id']}/managers")).json()
        assert [manager["ip_address"] for manager in managers] == [found]
