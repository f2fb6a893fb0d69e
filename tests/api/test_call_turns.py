"""One caller has so many calls at a time, from before their bodies are read, and no others wait for them."""

import asyncio
import inspect
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path

import httpx
import pytest

from api.call_turns import CALLS, REMEMBERED, CallersByToken, key_of_address
from git import turns
from git.turns import turns_at
from models.session import Database
from rigs.ports import LOCAL
from tests.api.runner.world import RUNNER_TOKEN
from tests.api.v4.site import Person, Site, open_site, serving
from tests.waiting import HANGS, eventually

HERE = key_of_address(LOCAL)


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    """A served installation."""
    async with open_site(tmp_path, "") as opened, serving(opened):
        yield opened


def http(site: Site, person: Person | None = None, **headers: str) -> httpx.AsyncClient:
    """A client over real connections."""
    shown = {"PRIVATE-TOKEN": person.token} if person else {}
    limits = httpx.Limits(max_connections=None)
    url = site.services.settings.url
    return httpx.AsyncClient(base_url=url, headers=shown | headers, timeout=30, trust_env=False, limits=limits)


async def running(key: str, count: int) -> None:
    """Return when a caller has so many calls."""

    async def look() -> bool:
        return turns_at(CALLS).running[f"caller {key}"] == count

    await eventually(look, f"{key} has {count} calls")


async def waiting(count: int) -> None:
    """Return when so many calls wait."""

    async def look() -> bool:
        return len(turns_at(CALLS).waiting) == count

    await eventually(look, f"{count} calls wait")


@asynccontextmanager
async def slow_bodies(number: int, client: httpx.AsyncClient, path: str, kind: str) -> AsyncIterator[None]:
    """So many calls whose bodies have begun and do not go on, as long as the block runs."""

    async def body() -> AsyncIterator[bytes]:
        yield b"a"
        await asyncio.Event().wait()

    headers = {"Content-Type": kind, "Origin": str(client.base_url).rstrip("/")}
    sending = [asyncio.create_task(client.post(path, content=body(), headers=headers)) for _ in range(number)]
    try:
        yield
    finally:
        for task in sending:
            task.cancel()
        await asyncio.gather(*sending, return_exceptions=True)


def of_groups(number: int, client: httpx.AsyncClient) -> AbstractAsyncContextManager[None]:
    """Of a call of the REST API."""
    return slow_bodies(number, client, "/api/v4/groups", "application/json")


def of_sign_in(client: httpx.AsyncClient) -> AbstractAsyncContextManager[None]:
    """As many of a form as an address may have."""
    return slow_bodies(CALLS.of_caller, client, "/users/sign_in", "application/x-www-form-urlencoded")


async def status(client: httpx.AsyncClient, path: str = "/api/v4/version") -> int:
    """What a read is answered."""
    return (await client.get(path)).status_code


def test_one_caller_never_takes_the_last_connection_to_the_database() -> None:
    assert CALLS.of_caller < inspect.signature(Database).parameters["pool_size"].default


async def test_slow_bodies_of_an_account_count_for_it_whichever_token_it_shows(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "PATIENCE", 0.1)
    eve = await site.person("eve")
    tokens = [eve, await site.with_token(eve.id, "eve"), await site.with_token(eve.id, "eve")]
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(http(site, one)) for one in tokens]
        assert [await status(client) for client in clients] == [200] * 3
        half = CALLS.of_caller // 2
        async with of_groups(half, clients[0]), of_groups(CALLS.of_caller - half, clients[1]):
            await running(f"user {eve.id}", CALLS.of_caller)
            refused = await clients[2].get("/api/v4/version")
            assert (refused.status_code, refused.headers["Retry-After"]) == (503, "5")
            assert refused.json()["message"].startswith("The server is busy: 8 calls of one caller run at once")
            async with http(site, site.root) as root, http(site) as nobody:
                assert await status(root) == 200
                assert await status(nobody, "/users/sign_in") == 200
        await running(f"user {eve.id}", 0)
        assert await status(clients[2]) == 200


async def test_a_call_of_which_nobody_knew_whose_it_is_counts_for_its_account_once_that_is_known(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "PATIENCE", 0.1)
    eve = await site.person("eve")
    other = await site.with_token(eve.id, "eve")
    async with http(site, eve) as first, http(site, other) as second:
        assert await status(first) == 200
        async with of_groups(CALLS.of_caller, first):
            await running(f"user {eve.id}", CALLS.of_caller)
            assert await status(second) == 503, "its token was never seen"
            assert turns_at(CALLS).running[f"caller {HERE}"] == 0


async def test_slow_bodies_of_nobody_count_for_their_address(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "PATIENCE", 0.1)
    async with http(site, site.root) as root, http(site, Accept="text/html") as nobody:
        assert await status(root) == 200
        async with of_sign_in(nobody):
            await running(HERE, CALLS.of_caller)
            refused = await nobody.get("/users/sign_in")
            assert (refused.status_code, refused.headers["Retry-After"]) == (503, "5")
            assert "<!doctype html>" in refused.text.lower()
            assert await status(root) == 200


async def test_runners_git_and_probes_do_not_wait_for_those_of_their_address(site: Site) -> None:
    async with http(site) as client, of_sign_in(client), asyncio.timeout(HANGS):
        await running(HERE, CALLS.of_caller)
        poll = await client.post("/api/v4/jobs/request", json={"token": RUNNER_TOKEN, "system_id": "s_tests"})
        assert poll.status_code == 204
        assert await status(client, "/-/health") == 200
        assert await status(client, f"/{await site.path()}.git/info/refs?service=git-upload-pack") == 401


async def test_who_leaves_while_they_wait_is_not_answered_and_others_of_theirs_are(site: Site) -> None:
    async with http(site) as client:
        async with of_sign_in(client):
            await running(HERE, CALLS.of_caller)
            asking = [asyncio.create_task(client.get("/users/sign_in")) for _ in range(2)]
            await waiting(2)
            asking[0].cancel()
            await waiting(1)
        assert (await asking[1]).status_code == 200
        await running(HERE, 0)


async def test_more_calls_than_may_run_are_all_answered(site: Site) -> None:
    async with http(site, site.root) as client:
        paths = [f"/api/v4/projects/{site.world.project_id}/jobs?n={number}" for number in range(5 * CALLS.of_caller)]
        assert set(await asyncio.gather(*(status(client, path) for path in paths))) == {200}
    await running(f"user {site.root.id}", 0)


async def test_a_call_whose_answer_has_begun_takes_no_place(site: Site) -> None:
    async with http(site, site.root) as client, AsyncExitStack() as stack:
        for _ in range(CALLS.of_caller + 1):
            response = await stack.enter_async_context(client.stream("GET", "/-/events"))
            assert response.status_code == 200
        await running(f"user {site.root.id}", 0)


def test_a_token_is_somebodys_for_a_while_after_it_was_and_never_an_addresss() -> None:
    now = 0.0
    callers = CallersByToken(lambda: now)
    callers.note("a", "user 1")
    callers.note("", "user 2")
    assert (callers.key_of("a"), callers.key_of("b"), callers.key_of("")) == ("user 1", "", "")
    now = REMEMBERED
    assert callers.key_of("a") == ""
    callers.note("a", "user 1")
    callers.note("a", HERE)
    assert callers.key_of("a") == ""
