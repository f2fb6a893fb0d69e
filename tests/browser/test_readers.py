"""Pages without a pointer; and pictures of them for the README.

Marked slow: pages are opened in several windows.
"""

import os
from pathlib import Path
from typing import Final

import pytest
from playwright.async_api import Browser

from tests.browser.probes import probe
from tests.browser.scenery.world import World
from tests.browser.visits import PHONE, WIDE, Theme, Visitor, visitor

pytestmark = pytest.mark.slow

PICTURES: Final = "PERDURE_SCREENSHOTS"
"""The folder for pictures; without it none are kept."""
_MAX_STOPS: Final = 120
_NUMBERED: Final = probe("stops")
_FOCUSED: Final = probe("focused")
_LOST: Final = probe("lost")
_COMING: Final = ".log-static, .line.coming"
"""A log before its viewer is there, and lines that it has not got yet."""


async def test_a_keyboard_reaches_everything_and_shows_where_it_is(world: World, chromium: Browser) -> None:
    faults = []
    async with visitor(chromium, world.live, world.live.root) as tab:
        for path in await world.portraits():
            await tab.visit(path)
            faults += [f"{path}: {text}" for text in await _stops(tab)]
    assert not faults, "\n".join(faults)


async def _stops(tab: Visitor) -> list[str]:
    """Go through a page by the Tab key: what is never reached, and what does not show that it is."""
    count = await tab.page.evaluate(_NUMBERED)
    left, faults = set(range(count)), []
    for _ in range(min(count + 5, _MAX_STOPS)):
        await tab.page.keyboard.press("Tab")
        stop = await tab.page.evaluate(_FOCUSED)
        if stop is None:
            break
        left.discard(stop["stop"])
        if not stop["seen"]:
            faults.append(f"focus cannot be seen: {stop['html']}")
        if not stop["inWindow"]:
            faults.append(f"focus is out of sight: {stop['html']}")
    if count < _MAX_STOPS:
        lost = await tab.page.evaluate(_LOST, sorted(left))
        faults += [f"never reached: {html}" for html in lost[:4]]
    return faults


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["1280", "390"])
async def test_pictures_of_pages(world: World, chromium: Browser, theme: Theme, size: tuple[int, int]) -> None:
    folder = os.environ.get(PICTURES)
    faults = []
    async with visitor(chromium, world.live, world.live.root, size=size, theme=theme) as tab:
        for name, path in (await world.named_portraits()).items():
            tab.faults.clear()
            await tab.visit(path)
            faults += [f"{path}: {text}" for text in [*await tab.overflow(), *tab.faults.all()]]
            await tab.page.locator(_COMING).first.wait_for(state="detached")
            if folder:  # Playwright makes it
                await tab.page.screenshot(path=Path(folder) / f"{name}-{size[0]}-{theme}.png", animations="disabled")
    assert not faults, "\n".join(faults)
