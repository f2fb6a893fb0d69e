"""Texts that want to run, by every door, on every page that shows them: they are text, and the page keeps its shape.

Marked slow: some hundred texts go through the doors, and every page that shows them is opened as on a telephone.
"""

from typing import Final

import pytest
from playwright.async_api import Browser

from tests.browser.links import Follower
from tests.browser.live_stack import LiveStack
from tests.browser.probes import probe
from tests.browser.scenery.hostile import PATH, Hostile, make_hostile
from tests.browser.visits import PHONE, Visitor, session_of, visitor

pytestmark = pytest.mark.slow

COUNTED: Final = str(7191 * 7193)
"""What a template would make of one of the texts."""
_ADDRESSES: Final = probe("addresses")
_HANDLERS: Final = probe("handlers")


@pytest.fixture(scope="module")
async def hostile(stack: LiveStack) -> Hostile:
    """The project."""
    return await make_hostile(stack)


async def test_texts_come_in_by_every_door(hostile: Hostile) -> None:
    assert sum(hostile.came_in.values()) >= 200, (hostile.came_in, hostile.refused)
    assert len(hostile.came_in) >= 14, hostile.came_in


async def test_no_text_runs_or_bursts_a_page(stack: LiveStack, hostile: Hostile, chromium: Browser) -> None:
    cookies = await session_of(chromium, stack, stack.root)
    bulk = f"/{PATH}/-"
    starts = [
        f"/{PATH}",
        f"{bulk}/pipelines/{hostile.pipeline}",
        f"{bulk}/jobs/{hostile.job}",
        f"{bulk}/merge_requests/1",
    ]
    found = await Follower(stack.url, cookies, (), within=("/hostile", "/groups/hostile")).follow("/", *starts)
    assert len(found.pages) >= 8, found.pages
    faults: dict[str, list[str]] = {"links": found.dead} if found.dead else {}
    async with visitor(chromium, stack, stack.root, size=PHONE) as tab:
        for path in sorted(set(found.pages.values()) | set(starts)):
            if wrong := await _wrong(tab, path):
                faults[path] = wrong
    assert not faults, "\n".join(f"{path}: {text}" for path, texts in faults.items() for text in texts)


async def _wrong(tab: Visitor, path: str) -> list[str]:
    """What a text has done to a page, also when the reader moves and goes through it by keyboard."""
    tab.faults.clear()
    await tab.visit(path)
    page = tab.page
    for _ in range(8):
        await page.keyboard.press("Tab")
    await page.mouse.move(200, 400)
    await page.mouse.wheel(0, 2_000)
    await page.evaluate("document.querySelectorAll('details').forEach((node) => { node.open = true; })")
    await tab.settled()
    wrong = tab.faults.all()
    if await page.evaluate("window.__pwned"):
        wrong.append("something ran")
    if COUNTED in await page.content():
        wrong.append("a template was filled")
    wrong += [f"address: {text[:80]}" for text in await page.evaluate(_ADDRESSES)]
    wrong += [f"attribute: {text}" for text in await page.evaluate(_HANDLERS)]
    return wrong + [f"too wide: {text}" for text in await tab.overflow()]
