"""The log viewer with logs that are long, wide or hostile, and while its server is gone.

Marked slow: a browser takes some seconds to start on a busy machine.
"""

import os
import re
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.api.v4.site import Site, open_site, serving
from tests.browser.chromium import PROGRAM, browsing
from tests.browser.log_viewing import job_with, line, viewing
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


TOP = "document.querySelector('.log-scroller').scrollTop"
SCROLLED = """part => {
    const scroller = document.querySelector(".log-scroller");
    scroller.scrollTop = (scroller.scrollHeight - scroller.clientHeight) * part;
}"""


@pytest.mark.alone
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
            top = await page.evaluate(TOP)
            for _ in range(5):
                await page.mouse.wheel(0, 300)
            await expect(line(page, wanted + 80)).to_contain_text(f"{wanted + 79:07d} a line")
            # The wheel scrolls smoothly: what is left of it would go on behind the next jump.
            await page.wait_for_function(f"top => {TOP} >= top", arg=top + 5 * 300)
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
        # A line whose text has not come yet is one row high, however long it is.
        await expect(line(page, 1)).to_contain_text("word")
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
