"""Our own pages in a browser: where a log opens, and what is asked before a job is played.

Marked slow: a browser takes some seconds to start on a busy machine.
"""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from auth.session_token import COOKIE, issue_session
from tests.api.v4.site import Site, open_site, serving
from tests.browser.chromium import PROGRAM, browsing

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not PROGRAM.exists() and os.environ.get("CI") != "true",
        reason=f"not run: there is no {PROGRAM}; install Debian's package chromium",
    ),
]
ROOM = 20
"""Pixels below the end of a log that are not the window's edge."""


@pytest.fixture
async def site(tmp_path: Path, sqlite_url: str) -> AsyncIterator[Site]:
    """An installation behind a real web server."""
    async with open_site(tmp_path, sqlite_url) as opened, serving(opened):
        yield opened


async def signed_in(site: Site, page: Page) -> None:
    """Let a browser be root's."""
    session = issue_session(site.services.key, site.root.id, site.services.clock())
    await page.context.add_cookies([{"name": COOKIE, "value": session, "url": site.services.settings.url}])


async def job_page(site: Site, page: Page, job_id: int, anchor: str = "") -> None:
    """Visit the page of a job."""
    await page.goto(f"{site.services.settings.url}/{await site.path()}/-/jobs/{job_id}{anchor}")


@pytest.mark.parametrize("lines", [3, 40, 3000])
async def test_a_log_opens_where_it_ends_and_stays_there_while_it_grows(site: Site, tmp_path: Path, lines: int) -> None:
    await site.world.pipeline("one: {script: x}\n")
    job = await site.world.job()
    log = b"".join(b"line %d\n" % number for number in range(lines))
    await site.world.patch(job, 0, log)
    async with browsing(tmp_path / "failed.png") as page:
        await page.set_viewport_size({"width": 1200, "height": 720})
        await signed_in(site, page)
        await job_page(site, page, job["id"])
        await _ends_in_sight(page, f"line {lines - 1}")
        await page.screenshot(path=tmp_path / f"log-{lines}.png")
        more = b"".join(b"more %d\n" % number for number in range(200))
        await site.world.patch(job, len(log), more)
        await _ends_in_sight(page, "more 199")
        await job_page(site, page, job["id"], "#L2")
        await page.reload()
        follow = page.get_by_role("button", name="Follow")
        await expect(follow).to_have_attribute("aria-pressed", "false")
        await expect(page.locator(".log-rows #L2")).to_be_in_viewport()


async def _ends_in_sight(page: Page, text: str) -> None:
    """The last line can be seen, with room below it, and the log is at its end."""
    line = page.get_by_text(text, exact=True)
    await expect(line).to_be_in_viewport(ratio=1)
    box = await line.bounding_box()
    assert box is not None
    height = page.viewport_size["height"] if page.viewport_size else 0
    assert height - (box["y"] + box["height"]) >= ROOM, "not cut at the edge of the window"
    last = await page.locator(".log-rows .line").last.inner_text()
    assert last.endswith(text), "nothing comes below it"


async def test_a_job_with_a_question_is_played_only_by_whoever_agrees(site: Site, tmp_path: Path) -> None:
    site.connect_temporal()
    question = "Ship 'it' to <everybody>?"
    pipeline = await site.world.pipeline(f'go: {{script: x, when: manual, manual_confirmation: "{question}"}}\n')
    async with site.client(site.root) as client:
        address = f"/api/v4/projects/{site.world.project_id}/pipelines/{pipeline}/jobs"
        (job,) = (await client.get(address)).json()

    async def status() -> str:
        return str((await site.world.row(job["id"])).status)

    async with browsing(tmp_path / "failed.png") as page:
        await signed_in(site, page)
        for place in (f"pipelines/{pipeline}", f"jobs/{job['id']}"):
            await page.goto(f"{site.services.settings.url}/{await site.path()}/-/{place}")
            before = page.url
            await page.get_by_role("button", name="Play").first.click()
            await expect(page.get_by_role("dialog")).to_contain_text(question)
            await page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
            await expect(page.get_by_role("dialog")).to_be_hidden()
            assert (await status(), page.url) == ("manual", before), "whoever says no has done nothing"
        await page.get_by_role("button", name="Play").first.click()
        await page.get_by_role("dialog").get_by_role("button", name="Play").click()
        await expect(page.get_by_role("button", name="Play")).to_have_count(0)
    assert await status() == "pending"
