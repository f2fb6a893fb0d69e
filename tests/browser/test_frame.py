"""What all pages share, in a browser: live pieces, keys, the palette, themes, questions, times.

Marked slow: a browser takes some seconds to start on a busy machine.
"""

import os
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from models.notifications import PIPELINES, project_topic
from tests.api.v4.site import Site, open_site, serving
from tests.browser.chromium import PROGRAM, browsing
from tests.browser.test_pages import signed_in

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not PROGRAM.exists() and os.environ.get("CI") != "true",
        reason=f"not run: there is no {PROGRAM}; install Debian's package chromium",
    ),
]
HIDE = """() => {
  for (const [name, value] of [["hidden", true], ["visibilityState", "hidden"]])
    Object.defineProperty(document, name, { configurable: true, get: () => value });
  document.dispatchEvent(new Event("visibilitychange"));
}"""


@pytest.fixture
async def site(tmp_path: Path, sqlite_url: str) -> AsyncIterator[Site]:
    """An installation behind a real web server."""
    async with open_site(tmp_path, sqlite_url) as opened, serving(opened):
        yield opened


async def visit(site: Site, page: Page, path: str) -> None:
    """Go to one of our pages."""
    await page.goto(f"{site.services.settings.url}{path}")


async def test_keys_lead_everywhere_and_the_sheet_lists_them(site: Site, tmp_path: Path) -> None:
    pipeline = await site.world.pipeline("one: {script: x}\n")
    project = "/" + await site.path()
    async with browsing(tmp_path / "failed.png") as page:
        await signed_in(site, page)
        await visit(site, page, "/")
        await page.keyboard.press("?")
        sheet = page.get_by_role("dialog", name="Keyboard shortcuts")
        await expect(sheet).to_contain_text("Go to a project, pipeline, job or page")
        await page.keyboard.press("Escape")
        await expect(sheet).to_be_hidden()
        await page.keyboard.press("Control+k")
        await page.keyboard.type(project[1:])
        await page.get_by_role("dialog", name="Go to").get_by_role("link", name=project[1:]).wait_for()
        await page.keyboard.press("Enter")
        await page.wait_for_url(re.compile(f"{project}$"))
        await page.keyboard.press("Control+k")
        await page.keyboard.type(str(pipeline))
        found = page.get_by_role("dialog", name="Go to").get_by_role("link", name=f"Pipeline {pipeline}")
        await found.wait_for()
        await page.keyboard.press("ArrowDown")
        await expect(found).to_be_focused()
        await page.keyboard.press("Enter")
        await page.wait_for_url(re.compile(f"/-/pipelines/{pipeline}$"))
        await page.keyboard.press("g")
        await page.keyboard.press("h")
        await page.wait_for_url(re.compile("/$"))


async def test_a_theme_is_kept_and_drawn_before_the_page_is_seen(site: Site, tmp_path: Path) -> None:
    async with browsing(tmp_path / "failed.png") as page:
        await page.emulate_media(color_scheme="light")
        await visit(site, page, "/users/sign_in")
        back = "getComputedStyle(document.documentElement).backgroundColor"
        light = await page.evaluate(back)
        switch = page.locator("#switch-theme")
        await switch.click()
        await switch.click()
        await expect(switch).to_have_accessible_name("Theme: dark")
        assert await page.evaluate(back) != light
        seen = "addEventListener('DOMContentLoaded', () => { window.first = document.documentElement.dataset.theme; });"
        await page.add_init_script(seen)
        await page.reload()
        assert await page.evaluate("window.first") == "dark"
        await switch.click()
        assert await page.evaluate(back) == light


async def test_a_piece_that_changes_leaves_the_rest_as_the_reader_has_it(site: Site, tmp_path: Path) -> None:
    for _ in range(3):
        await site.world.pipeline("one: {script: x}\n")
    async with browsing(tmp_path / "failed.png") as page:
        await signed_in(site, page)
        await visit(site, page, f"/{await site.path()}/-/pipelines")
        link = page.locator("#live a[href*='/-/pipelines/']").last
        await link.focus()
        await page.evaluate("document.activeElement.marked = true")
        made = await site.world.pipeline("two: {script: x}\n")
        await site.services.notifications.show(project_topic(site.world.project_id), PIPELINES)
        await page.locator(f"#live a[href$='/-/pipelines/{made}']").first.wait_for()
        assert await page.evaluate("document.activeElement.marked"), "the same element, still focused"


async def test_a_page_in_the_background_gives_its_connection_back_and_shows_the_end(site: Site, tmp_path: Path) -> None:
    pipeline = await site.world.pipeline("one: {script: x}\n")
    job = await site.world.job()
    async with browsing(tmp_path / "failed.png") as page:
        await signed_in(site, page)
        streams: list[str] = []
        page.on("requestfinished", lambda request: streams.append(request.url))
        page.on("requestfailed", lambda request: streams.append(request.url))
        await visit(site, page, f"/{await site.path()}/-/jobs/{job['id']}")
        await expect(page).to_have_title(re.compile("Running"))
        await page.evaluate(HIDE)
        await site.world.put(job, "failed", failure_reason="script_failure")
        await expect(page).to_have_title(re.compile("Failed"))
        icon = await page.locator("link[rel=icon]").get_attribute("href")
    assert icon is not None
    assert icon.endswith("favicon-failed.svg")
    assert any("/events?" in url and "once" not in url for url in streams), "the stream is over"
    assert any("once" in url for url in streams)
    assert pipeline


async def test_times_are_the_readers(site: Site, tmp_path: Path) -> None:
    await site.world.pipeline("one: {script: x}\n")
    async with browsing(tmp_path / "failed.png") as page:
        browser = page.context.browser
        assert browser is not None
        context = await browser.new_context(timezone_id="Asia/Kathmandu")
        there = await context.new_page()
        await signed_in(site, there)
        await visit(site, there, f"/{await site.path()}")
        time = there.locator("time[data-ago]").first
        await expect(time).to_have_attribute("title", re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \+05:45$"))
        await expect(time).to_have_text(re.compile("ago|just now"))
        await context.close()


async def test_a_moment_within_a_sentence_is_the_readers_too(site: Site, tmp_path: Path) -> None:
    site.connect_temporal()
    pipeline = await site.world.pipeline("later: {script: x, when: delayed, start_in: 2 hours}\n")
    await site.world.settle(pipeline)
    async with browsing(tmp_path / "failed.png") as page:
        browser = page.context.browser
        assert browser is not None
        context = await browser.new_context(timezone_id="Asia/Kathmandu")
        there = await context.new_page()
        await signed_in(site, there)
        await visit(site, there, f"/{await site.path()}/-/pipelines/{pipeline}")
        said = there.locator("[data-text] time").first
        await expect(said).to_have_attribute("title", re.compile(r"\+05:45$"))
        await expect(there.locator("[data-text]").first).to_have_text(
            re.compile(r"It is due at \d{4}-\d\d-\d\d \d\d:\d\d\.")
        )
        await context.close()
