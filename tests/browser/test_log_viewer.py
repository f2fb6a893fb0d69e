"""The log viewer in a browser: where it opens, what it follows, what it finds.

Marked slow: a browser takes some seconds to start on a busy machine.
"""

import os
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import expect

from loops.archiver import Archiver
from tests.api.v4.site import Site, open_site, serving
from tests.browser.chromium import PROGRAM, browsing
from tests.browser.log_viewing import ERROR_LINE, FAILED, GrowingLog, job_with, line, viewing
from tests.browser.test_pages import job_page, signed_in

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not PROGRAM.exists() and os.environ.get("CI") != "true",
        reason=f"not run: there is no {PROGRAM}; install Debian's package chromium",
    ),
]


@pytest.fixture
async def site(tmp_path: Path, sqlite_url: str) -> AsyncIterator[Site]:
    """An installation behind a real web server."""
    async with open_site(tmp_path, sqlite_url) as opened, serving(opened):
        yield opened


@pytest.fixture(params=[True, pytest.param(False, marks=pytest.mark.nightly)], ids=["stamped", "plain"])
def stamps(request: pytest.FixtureRequest) -> bool:
    """Whether the runner stamps lines, as it does by default since 18.7."""
    return bool(request.param)


async def test_a_failed_log_opens_at_its_failure(site: Site, tmp_path: Path, stamps: bool) -> None:
    job = await job_with(site, FAILED, "failed", stamps=stamps)
    async with viewing(site, job, tmp_path) as page:
        await expect(line(page, ERROR_LINE)).to_be_in_viewport()
        await expect(line(page, ERROR_LINE)).to_contain_text("error: what is this")
        folds = page.locator(".log-rows .fold")
        await page.locator(".log-scroller").focus()
        await page.keyboard.press("Home")
        await expect(line(page, 2)).to_contain_text("Preparing the executor")
        await expect(line(page, 2)).to_contain_text("3 s")
        assert [await fold.get_attribute("aria-expanded") for fold in await folds.all()] == ["false", "true"]
        await expect(line(page, 3)).to_have_count(0)
        await folds.first.click()
        await expect(line(page, 3)).to_have_text("3preparing 0")
        assert "opened=0" in page.url
        await page.screenshot(path=tmp_path / "opened.png")
        await page.reload()
        await page.locator("#log.ready .log-scroller").focus()
        await page.keyboard.press("Home")
        await expect(line(page, 3)).to_have_text("3preparing 0")


async def test_lines_and_ranges_have_addresses_that_survive_archiving(site: Site, tmp_path: Path, stamps: bool) -> None:
    job = await job_with(site, FAILED, "failed", stamps=stamps)
    async with viewing(site, job, tmp_path, "#L1000-L1003") as page:
        await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        await expect(line(page, 1000)).to_be_in_viewport()
        await expect(page.locator(".log-rows .picked")).to_have_count(4)
        await line(page, 1005).locator(".at").click()
        await expect(page).to_have_url(re.compile("#L1005$"))
        await line(page, 1008).locator(".at").click(modifiers=["Shift"])
        await expect(page).to_have_url(re.compile("#L1005-L1008$"))
        assert await page.evaluate("navigator.clipboard.readText()") == page.url
        services = site.services
        assert await Archiver(services.database, services.store, services.notifications).move() == 1
        await page.reload()
        await expect(page.locator(".log-rows .picked")).to_have_count(4)
        await expect(line(page, 1005)).to_be_in_viewport()
        await expect(line(page, 1002)).to_have_text("1002compiling 948")
        await page.evaluate("location.hash = '#L3'")
        await expect(line(page, 3)).to_have_class(re.compile("picked"))
        await expect(line(page, 3)).to_be_in_viewport()


async def test_following_yields_to_the_reader_and_comes_back(site: Site, tmp_path: Path, stamps: bool) -> None:
    job = await job_with(site, b"")
    log = GrowingLog(site, job, stamps=stamps)
    await log.print(b"".join(b"line %d\n" % number for number in range(3_000)))
    async with viewing(site, job, tmp_path) as page:
        follow, more = page.locator('[data-log="follow"]'), page.locator('[data-log="more"]')
        await expect(line(page, 3_000)).to_be_in_viewport(ratio=0.9)
        await expect(follow).to_have_attribute("aria-pressed", "true")
        await log.print(b"more\n" * 50)
        await expect(line(page, 3_050)).to_be_in_viewport(ratio=0.9)
        await page.locator(".log-scroller").hover()
        await page.mouse.wheel(0, -400)
        await expect(follow).to_have_attribute("aria-pressed", "false")
        await expect(line(page, 3_050)).to_have_count(0)
        shown = await page.locator(".log-rows .line").first.get_attribute("id")
        await log.print(b"more\n" * 214)
        await expect(more).to_have_text("↓ 214 new lines")
        assert await page.locator(".log-rows .line").first.get_attribute("id") == shown
        await more.click()
        await expect(line(page, 3_264)).to_be_in_viewport(ratio=0.9)
        await expect(more).to_be_hidden()
        await page.keyboard.press("f")
        await expect(follow).to_have_attribute("aria-pressed", "false")
        await page.keyboard.press("f")
        await expect(follow).to_have_attribute("aria-pressed", "true")
        await log.print(b"unfinished\r")  # which a runner that stamps sends at once, as a piece
        await expect(line(page, 3_265)).to_have_text("3265unfinished")
        await log.print(b"line\nnext\r")
        await expect(line(page, 3_265)).to_have_text("3265line")
        await expect(line(page, 3_266)).to_have_text("3266next")
        assert await page.evaluate(NUMBERS) == await page.evaluate("Array.from(new Set((" + NUMBERS + ")))")


NUMBERS = "[...document.querySelectorAll('.log-rows .line')].map(row => row.id)"


async def test_search_finds_what_closed_sections_hide(site: Site, tmp_path: Path, stamps: bool) -> None:
    job = await job_with(site, FAILED, "failed", stamps=stamps)
    async with viewing(site, job, tmp_path) as page:
        hits = page.locator('[data-log="hits"]')
        await expect(line(page, ERROR_LINE)).to_be_in_viewport()
        await page.keyboard.press("/")
        await page.keyboard.type("NEEDLE")
        await expect(hits).to_have_text("1 / 2")
        await expect(line(page, 10)).to_be_in_viewport()
        await expect(page.locator(".log-rows .fold").first).to_have_attribute("aria-expanded", "true")
        await page.keyboard.press("Enter")
        await expect(hits).to_have_text("2 / 2")
        await expect(line(page, 124)).to_have_class(re.compile("current"))
        assert await page.evaluate("[...CSS.highlights.get('hit')].map(String)") == ["needle"]
        await page.locator(".log-scroller").focus()
        await page.keyboard.press("n")
        await expect(hits).to_have_text("1 / 2")
        await page.keyboard.press("N")
        await expect(hits).to_have_text("2 / 2")
        await page.keyboard.press("e")
        await expect(line(page, ERROR_LINE)).to_be_in_viewport()
        await page.keyboard.press("Control+f")
        await page.keyboard.type("nothing like it")
        await expect(hits).to_have_text("no hits")
        await page.locator('[name="pattern"]').check(force=True)
        await page.get_by_label("Search the whole log").fill("^note 9\\d$")
        await expect(hits).to_have_text("1 / 10")
        await page.get_by_label("Search the whole log").fill("(")
        await expect(hits).to_have_text("not a pattern")


async def test_without_a_script_the_end_of_the_log_is_there(site: Site, tmp_path: Path, stamps: bool) -> None:
    job = await job_with(site, FAILED, "failed", stamps=stamps)
    async with browsing(tmp_path / "failed.png") as browser_page:
        assert browser_page.context.browser is not None
        context = await browser_page.context.browser.new_context(java_script_enabled=False)
        page = await context.new_page()
        await signed_in(site, page)
        await job_page(site, page, job["id"])
        await expect(page.get_by_text("ERROR: Job failed: exit code 1")).to_be_visible()
        await expect(page.get_by_role("link", name="Raw")).to_be_visible()
        await expect(page.get_by_role("button", name="Wrap")).to_be_hidden()
