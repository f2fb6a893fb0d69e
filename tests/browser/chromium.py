"""Debian's Chromium, without a window and without calls to the outside."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from playwright.async_api import BrowserContext, Page, async_playwright, expect

from tests.waiting import HANGS

PROGRAM: Final = Path("/usr/bin/chromium")
# As long as `tests.waiting.eventually`: a busy machine is no fault. `test_live_states` says what has to come sooner.
PATIENCE: Final = 1000 * HANGS
"""Milliseconds for whatever a browser does."""
expect.set_options(timeout=PATIENCE)
FLAGS: Final = (
    "--no-sandbox",  # tests may run as root
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@asynccontextmanager
async def browsing(picture: Path) -> AsyncIterator[Page]:
    """An empty page of a new browser; when the block fails, what is seen then is kept as `picture`."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=PROGRAM, args=list(FLAGS))
        try:
            page = await browser.new_page(viewport={"width": 1_400, "height": 1_000})
            page.set_default_timeout(PATIENCE)
            try:
                yield page
            except BaseException:
                await page.screenshot(path=picture)
                raise
        finally:
            await browser.close()


async def signed_in_at(context: BrowserContext, url: str, username: str, password: str) -> None:
    """Let somebody sign in by the form."""
    context.set_default_timeout(PATIENCE)
    page = await context.new_page()
    await page.goto(f"{url}/users/sign_in")
    await page.locator("input[name=username]").fill(username)
    await page.locator("input[name=password]").fill(password)
    await page.locator("input[name=password]").press("Enter")
    await page.wait_for_url(f"{url}/")
    await page.close()
