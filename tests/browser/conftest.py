"""One stack, one world to look at and one Chromium for all tests of pages; nothing of it runs on beside others."""

import os
from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Browser, async_playwright

from tests.browser.chromium import FLAGS, PROGRAM
from tests.browser.links import Follower, Found
from tests.browser.live_stack import LiveStack, live_stack
from tests.browser.scenery.world import World, make_world
from tests.browser.visits import session_of


@pytest.fixture(scope="package")
async def stack(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[LiveStack]:
    """The embedded stack."""
    folder = tmp_path_factory.mktemp("stack")
    folder.chmod(0o755)
    async with live_stack(folder) as live:
        yield live


@pytest.fixture(scope="package")
async def world(stack: LiveStack) -> World:
    """What there is to look at."""
    return await make_world(stack)


@pytest.fixture(scope="package")
async def chromium() -> AsyncIterator[Browser]:
    """The browser; every test opens contexts of its own in it."""
    if not PROGRAM.exists() and os.environ.get("CI") != "true":
        pytest.skip(f"not run: there is no {PROGRAM}; install Debian's package chromium")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=PROGRAM, args=list(FLAGS))
        try:
            yield browser
        finally:
            await browser.close()


@pytest.fixture(scope="package")
async def pages(world: World, chromium: Browser) -> Found:
    """What an administrator finds who follows every link."""
    cookies = await session_of(chromium, world.live, world.live.root)
    return await Follower(world.url, cookies, tuple(world.live.paths)).follow("/", *world.starts)
