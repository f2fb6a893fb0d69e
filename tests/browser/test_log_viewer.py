"""The log viewer in a browser: where it opens, what it follows, what it finds, and what does not hurt it.

Marked slow: a browser takes some seconds to start on a busy machine.
"""

import os
import re
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, expect

from loops.archiver import Archiver
from tests.api.v4.site import Site, open_site, serving
from tests.browser.chromium import PROGRAM, browsing
from tests.browser.test_pages import job_page, signed_in

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not PROGRAM.exists() and os.environ.get("CI") != "true",
        reason=f"not run: there is no {PROGRAM}; install Debian's package chromium",
    ),
]
PIECE = 1024 * 1024
FAILED = b"".join(
    (
        b"Running with a runner\n",
        b"section_start:1700000000:prepare_executor\r\x1b[0K\x1b[36;1mPreparing the executor\x1b[0;m\n",
        *(b"preparing %d%s\n" % (number, b" with a needle" * (number == 7)) for number in range(50)),
        b"section_end:1700000003:prepare_executor\r\x1b[0K",
        b"section_start:1700000003:step_script\r\x1b[0K\x1b[36;1mRunning the script\x1b[0;m\n",
        *(b"compiling %d%s\n" % (number, b" with a \x1b[1mnee\x1b[0mdle" * (number == 70)) for number in range(2_000)),
        b"\x1b[31mmain.c:7:1: error: what is this\x1b[0m\n",
        *(b"note %d\n" % number for number in range(100)),
        b"section_end:1700000130:step_script\r\x1b[0K",
        b"section_start:1700000130:cleanup_file_variables\r\x1b[0KCleaning up\n",
        b"section_end:1700000131:cleanup_file_variables\r\x1b[0K\x1b[31;1mERROR: Job failed: exit code 1\n\x1b[0;m\n",
    )
)
ERROR_LINE = 2054


@pytest.fixture
async def site(tmp_path: Path, sqlite_url: str) -> AsyncIterator[Site]:
    """An installation behind a real web server."""
    async with open_site(tmp_path, sqlite_url) as opened, serving(opened):
        yield opened


async def job_with(site: Site, log: bytes, state: str = "") -> dict[str, Any]:
    """A job that runs, or has ended in a state, with this log."""
    await site.world.pipeline("one: {script: x}\n")
    job = await site.world.job()
    for start in range(0, len(log), PIECE):
        response = await site.world.patch(job, start, log[start : start + PIECE])
        assert response.status_code == 202, response.text
    if state:
        assert (await site.world.put(job, state, log)).status_code == 200
    return job


@asynccontextmanager
async def viewing(site: Site, job: dict[str, Any], tmp_path: Path, anchor: str = "") -> AsyncIterator[Page]:
    """The page of a job in a browser whose viewer is ready; nothing may be said on its console."""
    async with browsing(tmp_path / "failed.png") as page:
        said: list[str] = []
        page.on("console", lambda message: said.append(message.text) if message.type in {"error", "warning"} else None)
        page.on("pageerror", lambda error: said.append(str(error)))
        await page.set_viewport_size({"width": 1280, "height": 800})
        await signed_in(site, page)
        await job_page(site, page, job["id"], anchor)
        await expect(page.locator("#log.ready")).to_be_visible()
        yield page
        assert said == []


def line(page: Page, number: int) -> Any:
    """The row of a line."""
    return page.locator(f".log-rows #L{number}")


async def test_a_failed_log_opens_at_its_failure(site: Site, tmp_path: Path) -> None:
    job = await job_with(site, FAILED, "failed")
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


async def test_lines_and_ranges_have_addresses_that_survive_archiving(site: Site, tmp_path: Path) -> None:
    job = await job_with(site, FAILED, "failed")
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


async def test_following_yields_to_the_reader_and_comes_back(site: Site, tmp_path: Path) -> None:
    log = b"".join(b"line %d\n" % number for number in range(3_000))
    job = await job_with(site, log)
    async with viewing(site, job, tmp_path) as page:
        follow, more = page.locator('[data-log="follow"]'), page.locator('[data-log="more"]')
        await expect(line(page, 3_000)).to_be_in_viewport(ratio=0.9)
        await expect(follow).to_have_attribute("aria-pressed", "true")
        await site.world.patch(job, len(log), b"more\n" * 50)
        await expect(line(page, 3_050)).to_be_in_viewport(ratio=0.9)
        log += b"more\n" * 50
        await page.locator(".log-scroller").hover()
        await page.mouse.wheel(0, -400)
        await expect(follow).to_have_attribute("aria-pressed", "false")
        await expect(line(page, 3_050)).to_have_count(0)
        shown = await page.locator(".log-rows .line").first.get_attribute("id")
        await site.world.patch(job, len(log), b"more\n" * 214)
        await expect(more).to_have_text("↓ 214 new lines")
        assert await page.locator(".log-rows .line").first.get_attribute("id") == shown
        await more.click()
        await expect(line(page, 3_264)).to_be_in_viewport(ratio=0.9)
        await expect(more).to_be_hidden()
        await page.keyboard.press("f")
        await expect(follow).to_have_attribute("aria-pressed", "false")
        await page.keyboard.press("f")
        await expect(follow).to_have_attribute("aria-pressed", "true")
        log += b"more\n" * 214
        await site.world.patch(job, len(log), b"unfinished")
        await expect(line(page, 3_265)).to_have_text("3265unfinished")
        await site.world.patch(job, len(log) + 10, b" line\nnext")
        await expect(line(page, 3_265)).to_have_text("3265unfinished line")
        await expect(line(page, 3_266)).to_have_text("3266next")
        assert await page.evaluate(NUMBERS) == await page.evaluate("Array.from(new Set((" + NUMBERS + ")))")


NUMBERS = "[...document.querySelectorAll('.log-rows .line')].map(row => row.id)"


async def test_search_finds_what_closed_sections_hide(site: Site, tmp_path: Path) -> None:
    job = await job_with(site, FAILED, "failed")
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


SCROLLED = """part => {
    const scroller = document.querySelector(".log-scroller");
    scroller.scrollTop = (scroller.scrollHeight - scroller.clientHeight) * part;
}"""


async def test_a_million_lines_open_at_once(site: Site, tmp_path: Path) -> None:
    count = 1_000_000
    log = (
        b"".join(b"%07d a line of a hundred characters %s\n" % (number, b"x" * 56) for number in range(count - 1))
        + b"error: the end\n"
    )
    job = await job_with(site, log, "failed")
    times = []
    async with viewing(site, job, tmp_path) as page:
        for _ in range(3):
            began = time.perf_counter()
            await page.reload(wait_until="commit")
            await expect(line(page, count)).to_contain_text("error: the end")
            times.append(time.perf_counter() - began)
        assert min(times) < 1, times
        await page.locator(".log-scroller").hover()
        for wanted in (1, 500_000, 999_000):
            await page.evaluate(f"location.hash = '#L{wanted}'")
            await expect(line(page, wanted)).to_contain_text(f"{wanted - 1:07d} a line")
            for _ in range(5):
                await page.mouse.wheel(0, 300)
            await expect(line(page, wanted + 80)).to_contain_text(f"{wanted + 79:07d} a line")
        await page.evaluate(SCROLLED, 0)
        await expect(line(page, 1)).to_be_in_viewport()
        await page.evaluate(SCROLLED, 0.5)
        await expect(page.locator(".log-rows .line").first).to_contain_text(re.compile(r"\d+0(499|500)\d{3} a line"))
        await page.evaluate(SCROLLED, 1)
        await expect(line(page, count)).to_be_in_viewport(ratio=0.9)
        assert await page.evaluate("document.querySelectorAll('*').length") < 1_500


async def test_long_lines_wrap_and_their_end_can_be_reached(site: Site, tmp_path: Path) -> None:
    log = b"".join(b"%d %s\n" % (number, b"word " * (number % 7) * 60) for number in range(1, 3_001))
    job = await job_with(site, log, "success")
    async with viewing(site, job, tmp_path) as page:
        await expect(line(page, 3_000)).to_be_in_viewport()
        await page.keyboard.press("w")
        await page.locator(".log-scroller").focus()
        await page.keyboard.press("Home")
        await expect(line(page, 1)).to_be_in_viewport()
        for _ in range(40):
            await page.keyboard.press("ArrowDown")
        first = int(((await page.locator(".log-rows .line").first.get_attribute("id")) or "")[1:])
        assert 2 < first < 15
        for _ in range(45):
            await page.keyboard.press("ArrowUp")
        await expect(line(page, 1)).to_be_in_viewport()
        await page.keyboard.press("End")
        await expect(line(page, 3_000)).to_be_in_viewport(ratio=0.9)


async def test_the_viewer_goes_on_when_its_server_is_gone_for_a_while(tmp_path: Path, sqlite_url: str) -> None:
    async with open_site(tmp_path, sqlite_url) as site, AsyncExitStack() as first:
        await first.enter_async_context(serving(site))
        log = b"".join(b"line %d\n" % number for number in range(500))
        job = await job_with(site, log)
        async with browsing(tmp_path / "failed.png") as page:
            await signed_in(site, page)
            await job_page(site, page, job["id"])
            await expect(line(page, 500)).to_be_in_viewport(ratio=0.9)
            await first.aclose()
            for number in range(500, 900, 100):
                piece = b"".join(b"line %d\n" % each for each in range(number, number + 100))
                await site.world.patch(job, len(log), piece)
                log += piece
            async with serving(site):
                await expect(line(page, 900)).to_be_in_viewport(ratio=0.9)
                await page.evaluate("location.hash = '#L495'")
                for number in range(490, 505):
                    await expect(line(page, number)).to_have_text(f"{number}line {number - 1}")
                await page.close()


HOSTILE = (
    b"section_start:1:<img src=x onerror=alert(1)>[collapsed=true]\r\x1b[0K<script>alert(2)</script>\n"
    b"\x1b]8;;javascript:alert(3)\x07click\x1b]8;;\x07 \x1b]0;<svg onload=alert(4)>\x07\n"
    b"section_end:2:<img src=x onerror=alert(1)>\r\x1b[0K\n"
    b'\x1b]8;;https://x.example/" onmouseover="alert(5)\x07over\x1b]8;;\x07\n'
    b"\x00\x01\x02nul \xe2\x80\xaegnp.exe\xe2\x80\xac \xff\xfe\n"
    b"\x1b[38;2;1;2;3;4mx\x1b[38;2;red;url(x)m \x1b[999999999999999m\n"
)


async def test_a_hostile_log_is_text(site: Site, tmp_path: Path) -> None:
    log = HOSTILE + b"y" * 10_000_000 + b"<b>end</b>\nlast\n"
    job = await job_with(site, log, "success")
    async with viewing(site, job, tmp_path) as page:
        page.on("dialog", lambda dialog: pytest.fail(f"a script ran: {dialog.message}"))
        await expect(line(page, 8)).to_have_text("8last")
        assert (await line(page, 7).inner_text()).endswith("<b>end</b>")
        assert len(await line(page, 7).inner_text()) < 70_000
        await page.evaluate("location.hash = '#L2'")
        await expect(line(page, 2)).to_have_text("2click ")
        await expect(line(page, 1)).to_contain_text("<script>alert(2)</script>")
        await expect(line(page, 5)).to_contain_text("U+202E")
        assert (
            await page.locator("#log .said :is(script, img, svg, [onclick], [onmouseover], [style*=url])").count() == 0
        )
        assert await page.locator('#log .said a:not([href^="https://"])').count() == 0


async def test_without_a_script_the_end_of_the_log_is_there(site: Site, tmp_path: Path) -> None:
    job = await job_with(site, FAILED, "failed")
    async with browsing(tmp_path / "failed.png") as browser_page:
        assert browser_page.context.browser is not None
        context = await browser_page.context.browser.new_context(java_script_enabled=False)
        page = await context.new_page()
        await signed_in(site, page)
        await job_page(site, page, job["id"])
        await expect(page.get_by_text("ERROR: Job failed: exit code 1")).to_be_visible()
        await expect(page.get_by_role("link", name="Raw")).to_be_visible()
        await expect(page.get_by_role("button", name="Wrap")).to_be_hidden()
