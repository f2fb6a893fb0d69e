"""Jobs with logs, and their pages in a browser."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from playwright.async_api import Page, expect

from tests.api.v4.site import Site
from tests.browser.chromium import browsing
from tests.browser.test_pages import job_page, signed_in
from tests.stamping import Stamper, stamped

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


async def job_with(site: Site, log: bytes, state: str = "", *, stamps: bool = False) -> dict[str, Any]:
    """A job that runs, or has ended in a state, with this log, perhaps stamped as GitLab Runner does."""
    log = stamped(log) if stamps else log
    await site.world.pipeline("one: {script: x}\n")
    job = await site.world.job()
    for start in range(0, len(log), PIECE):
        response = await site.world.patch(job, start, log[start : start + PIECE])
        assert response.status_code == 202, response.text
    if state:
        assert (await site.world.put(job, state, log)).status_code == 200
    return job


class GrowingLog:
    """The log of a job that runs, perhaps stamped."""

    def __init__(self, site: Site, job: dict[str, Any], *, stamps: bool) -> None:
        self._site, self._job, self._size = site, job, 0
        self._stamper = Stamper() if stamps else None

    async def print(self, text: bytes) -> None:
        """The runner sends what the job prints next."""
        sent = text if self._stamper is None else self._stamper.write(text)
        assert (await self._site.world.patch(self._job, self._size, sent)).status_code == 202
        self._size += len(sent)


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
