"""The log viewer in a browser: where it opens, what it follows, what it finds, and what does not hurt it.

Marked slow: a browser takes some seconds to start on a busy machine.
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, expect

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
FAILED = (
    b"Running with a runner\n"
    b"section_start:1700000000:prepare_executor\r\x1b[0K\x1b[36;1mPreparing the executor\x1b[0;m\n"
    + b"".join(b"preparing %d\n" % number for number in range(50))
    + b"section_end:1700000003:prepare_executor\r\x1b[0Ksection_start:1700000003:step_script\r\x1b[0K\x1b[36;1mRunning the script\x1b[0;m\n"
    + b"".join(b"compiling %d with a needle\n" % number if number == 70 else b"compiling %d\n" % number for number in range(2_000))
    + b"\x1b[31mmain.c:7:1: error: what is this\x1b[0m\n"
    + b"".join(b"note %d\n" % number for number in range(100))
    + b"section_end:1700000130:step_script\r\x1b[0Ksection_start:1700000130:cleanup_file_variables\r\x1b[0KCleaning up\n"
    b"section_end:1700000131:cleanup_file_variables\r\x1b[0K\x1b[31;1mERROR: Job failed: exit code 1\n\x1b[0;m\n"
)  # fmt: skip
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
        await page.keyboard.press("Home")
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
