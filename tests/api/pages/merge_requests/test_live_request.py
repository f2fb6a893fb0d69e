"""Pages of merge requests change by themselves: whoever changes something wakes those who look at it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import httpx
import pytest

from api.pages.frame import live
from tests.api.pages.merge_requests.test_merge_request import Pages
from tests.api.v4.site import Site, serving


@pytest.fixture
async def pages(site: Site, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Pages]:
    """A project with a first commit behind a real server, where nobody looks again without being woken."""
    monkeypatch.setattr(live, "RECHECK", 300.0)
    pages = Pages(site)
    await pages.merging.begin()
    async with serving(site):
        yield pages


@asynccontextmanager
async def watched(pages: Pages, place: str) -> AsyncIterator[Callable[[str], Awaitable[None]]]:
    """What waits until a text is among what a page is sent."""
    site = pages.site
    headers = {"PRIVATE-TOKEN": site.root.token}
    async with httpx.AsyncClient(base_url=site.services.settings.url, headers=headers, timeout=30) as client:
        address = f"/{await site.path()}/-/{place}/events"
        async with client.stream("GET", address) as response:
            lines = response.aiter_lines()

            async def comes(text: str) -> None:
                async with asyncio.timeout(20):
                    async for line in lines:
                        if text in line:
                            return

            yield comes


async def test_all_that_happens_to_a_merge_request_is_seen(pages: Pages) -> None:
    made = await pages.merging.feature("one")
    place = f"/{made['iid']}"
    async with watched(pages, f"merge_requests{place}") as comes:
        await comes("Nothing was said yet.")
        await pages.done(f"{place}/notes", body="A comment")
        await comes("A comment")
        await pages.done(f"{place}/approve")
        await comes("Revoke approval")
        await pages.done(f"{place}/unapprove")
        await comes("Nobody has approved it yet")
        await pages.done(f"{place}/draft")
        await comes("It is a draft")
        await pages.done(f"{place}/ready")
        await comes("It can be merged.")
        await pages.merging.commit("main", {"other": "1\n"})
        await comes("has moved on")
        await pages.done(f"{place}/pipelines")
        await comes("pipeline 2")
        await pages.merging.play(2)
        await comes("Passed")
        await pages.done(f"{place}/close")
        await comes("It is closed")
        await pages.done(f"{place}/reopen")
        await comes("It can be merged.")
        sha = (await pages.merging.get(made["iid"]))["sha"]
        await pages.done(f"{place}/merge", sha=sha)
        await comes("Merged by")


async def test_lists_and_trains_are_seen(pages: Pages) -> None:
    await pages.site.set_project(merge_trains_enabled=True, merge_pipelines_enabled=True)
    async with watched(pages, "merge_requests") as in_list, watched(pages, "merge_trains") as on_trains:
        await in_list("No open merge request")
        await on_trains("No merge request is on a train")
        made = await pages.merging.feature("one")
        await in_list("Bring one")
        await pages.merging.play(made["head_pipeline"]["id"])
        await in_list("Passed")
        await pages.done(f"/{made['iid']}/train")
        await on_trains("waits to be built")
        await pages.merging.loop.step()
        await on_trains("is tested upon what is before it")
        await pages.done(f"/{made['iid']}/leave_train")
        await on_trains("No merge request is on a train")
