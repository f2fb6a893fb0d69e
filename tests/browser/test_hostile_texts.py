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
_REPORT: Final = "/artifacts/report/"
"""What addresses of documents have that jobs made; they are shown in frames, and may be opened alone."""
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
            look = _let_out if _REPORT in path else _wrong
            if wrong := await look(tab, path):
                faults[path] = wrong
    assert not faults, "\n".join(f"{path}: {text}" for path, texts in faults.items() for text in texts)


async def test_what_a_text_could_do_is_found(stack: LiveStack, chromium: Browser) -> None:
    """The same looks at a page into which such a text was put as markup."""
    text = "<img src=x onerror=window.__pwned=1><a href=javascript:1>x</a><img src=http://evil.example/a.png>"
    async with visitor(chromium, stack, stack.root, size=PHONE) as tab:
        await tab.visit("/-/profile/password")
        await tab.page.evaluate("text => document.querySelector('main').insertAdjacentHTML('beforeend', text)", text)
        await tab.page.evaluate("document.querySelector('main').append('W'.repeat(500))")
        await tab.page.evaluate("document.querySelector('main').style.width = '900px'")
        await tab.settled()
        wrong = await _seen(tab)
    for kind in ("policy: script-src", "policy: img-src", "address: javascript:1", "attribute: onerror", "too wide"):
        assert [fault for fault in wrong if fault.startswith(kind)], (kind, wrong)


async def _let_out(tab: Visitor, path: str) -> list[str]:
    """What a report of a job, which may run scripts, reaches outside of its own origin."""
    tab.faults.clear()
    await tab.page.goto(f"{tab.url}{path}")
    await tab.settled()
    wrong = [f"foreign: {text}" for text in tab.faults.foreign] + [f"dialog: {text}" for text in tab.faults.dialogs]
    if (origin := await tab.page.evaluate("self.origin")) != "null":
        wrong.append(f"the report has the origin {origin}")
    return wrong


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
    return await _seen(tab)


async def _seen(tab: Visitor) -> list[str]:
    """Everything that can be seen to be wrong."""
    page, wrong = tab.page, tab.faults.all()
    if await page.evaluate("window.__pwned"):
        wrong.append("something ran")
    if COUNTED in await page.content():
        wrong.append("a template was filled")
    wrong += [f"address: {text[:80]}" for text in await page.evaluate(_ADDRESSES)]
    wrong += [f"attribute: {text}" for text in await page.evaluate(_HANDLERS)]
    return wrong + [f"too wide: {text}" for text in await tab.overflow()]
