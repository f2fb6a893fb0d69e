"""Streams of events: for those who may still follow, and not too many at a time."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import httpx
import pytest

from api import event_streams, followers
from api.pages.frame import live
from tests.api.v4.site import Person, Site, open_site, serving
from tests.waiting import eventually

WITHIN = 20
End = Callable[[Site, Person], Awaitable[None]]


@pytest.fixture
async def site(tmp_path: Path, database_url: str) -> AsyncIterator[Site]:
    async with open_site(tmp_path, database_url) as opened:
        yield opened


async def revoke(site: Site, person: Person) -> None:
    async with site.client(person) as client:
        assert (await client.delete("/api/v4/personal_access_tokens/self")).status_code == 204


async def block(site: Site, person: Person) -> None:
    await site.block(person)


@pytest.mark.parametrize("end", [block, revoke])
@pytest.mark.parametrize("followed", ["/-/events", "/api/v4/projects/{project}/jobs/{job}/trace/live"])
async def test_who_is_not_known_any_more_is_told_nothing(
    site: Site, monkeypatch: pytest.MonkeyPatch, followed: str, end: End
) -> None:
    monkeypatch.setattr(event_streams, "ASKED_EVERY", 0.0)
    monkeypatch.setattr(live, "RECHECK", 0.1)
    monkeypatch.setattr(live, "_QUIET_ROUNDS", 1)
    ada = await site.person("ada", 40)
    await site.set_project(visibility="public")
    await site.world.pipeline()
    job = await site.world.job()
    path = followed.format(project=site.world.project_id, job=job["id"])
    async with (
        serving(site) as url,
        httpx.AsyncClient(trust_env=False, base_url=url, timeout=WITHIN) as client,
        client.stream("GET", path, headers={"PRIVATE-TOKEN": ada.token}) as response,
    ):
        lines = response.aiter_lines()
        assert (await anext(lines)).startswith("retry")
        await end(site, ada)
        async with asyncio.timeout(WITHIN):
            async for _ in lines:
                await site.world.patch(job, 0, b"more")


async def test_nobody_follows_more_than_so_many_at_a_time(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(followers, "MAX_OF_CALLER", 2)
    ada, bea = await site.person("ada"), await site.person("bea")
    async with serving(site) as url, httpx.AsyncClient(trust_env=False, base_url=url, timeout=WITHIN) as client:

        async def begun(person: Person, stack: AsyncExitStack) -> int:
            shown = {"PRIVATE-TOKEN": person.token}
            response = await stack.enter_async_context(client.stream("GET", "/-/events", headers=shown))
            if response.status_code == 200:
                lines = response.aiter_lines()
                assert isinstance(lines, AsyncGenerator)
                stack.push_async_callback(lines.aclose)  # what nobody holds is closed
                assert (await anext(lines)).startswith("retry")
            return response.status_code

        async with AsyncExitStack() as others:
            async with AsyncExitStack() as hers:
                assert [await begun(ada, hers) for _ in range(3)] == [200, 200, 429]
                assert await begun(bea, others) == 200

            async def has_room() -> bool:
                return await begun(ada, others) == 200

            await eventually(has_room, "her streams are closed")
