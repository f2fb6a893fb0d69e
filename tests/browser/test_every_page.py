"""Every page that links lead to, as an administrator, a developer and a stranger: nothing is dead, nothing is wrong.

Marked slow: it follows some hundred links and opens each kind of page in a browser, in two themes, wide and narrow.
"""

import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.async_api import Browser

from tests.browser.links import Follower, Found
from tests.browser.live_stack import Person
from tests.browser.probes import probe
from tests.browser.scenery.world import World
from tests.browser.visits import SMALL, WIDE, Figures, Visitor, session_of, visitor

pytestmark = pytest.mark.slow

MAX_BYTES: Final = 150_000
_DARK_ALONE: Final = {"runOnly": ["color-contrast", "link-in-text-block"]}
"""What depends on the theme."""
_TIMES: Final = probe("times")
_MOVES: Final = probe("moving")
_LOCAL: Final = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)? ?\+05:45")


async def followed(world: World, browser: Browser, person: Person | None) -> Found:
    """What somebody finds who follows every link; as they are, in a browser."""
    cookies = await session_of(browser, world.live, person) if person else []
    return await Follower(world.url, cookies, tuple(world.live.paths)).follow("/", *world.starts)


async def test_no_link_of_an_administrator_is_dead(pages: Found) -> None:
    assert not pages.dead, "\n".join(pages.dead)
    assert not pages.anchors, "\n".join(pages.anchors)
    assert len(pages.pages) >= 15, sorted(pages.pages)


@pytest.mark.parametrize("who", ["developer", "stranger", "nobody"])
async def test_no_link_of_others_is_dead(world: World, chromium: Browser, who: str) -> None:
    person = getattr(world, who, None)
    found = await followed(world, chromium, person)
    assert not found.dead, "\n".join(found.dead)
    private = [page for page in found.pages.values() if "acme/shop" in page]
    assert bool(private) == (who == "developer"), "a private project is there for its members alone"


@dataclass(frozen=True)
class Look:
    """What there is to say of one page that was opened once."""

    figures: Figures
    wrong: list[str]
    """Of the console, requests and axe in both themes."""
    times: list[dict[str, Any]]
    moving: list[str]
    """What moves for a reader who wants no motion."""
    overflow: list[str]
    """What is wider than a narrow window."""


@pytest.fixture(scope="module")
async def looks(world: World, chromium: Browser, pages: Found) -> dict[str, Look]:
    """A page of each kind, and those that look different, by their paths."""
    async with visitor(chromium, world.live, world.live.root, sizes=True, reduced_motion="reduce") as tab:
        return {path: await looked_at(tab, path) for path in sorted({*pages.pages.values(), *await world.striking()})}


async def looked_at(tab: Visitor, path: str) -> Look:
    """Open a page, and look at it in light and dark, wide and narrow."""
    tab.faults.clear()
    await tab.page.emulate_media(color_scheme="light")
    await tab.page.set_viewport_size({"width": WIDE[0], "height": WIDE[1]})
    figures = await tab.visit(path)
    times, moving = await tab.page.evaluate(_TIMES), await tab.page.evaluate(_MOVES)
    await tab.page.set_viewport_size({"width": SMALL[0], "height": SMALL[1]})
    await tab.settled()
    overflow = await tab.overflow()
    await tab.page.set_viewport_size({"width": WIDE[0], "height": WIDE[1]})
    await tab.without_repetitions()
    await tab.settled()
    wrong = [f"axe: {text}" for text in await tab.serious()]
    await tab.page.emulate_media(color_scheme="dark")
    await tab.settled()
    wrong += [f"axe, dark: {text}" for text in await tab.serious(**_DARK_ALONE)]
    return Look(figures, [*tab.faults.all(), *wrong], times, moving, overflow)


async def test_every_kind_of_page_is_in_order_in_both_themes(looks: dict[str, Look]) -> None:
    record({path: look.figures for path, look in looks.items()})
    faults = [f"{path}: {text}" for path, look in looks.items() for text in look.wrong]
    assert not faults, "\n".join(faults)
    large = {path: look.figures.bytes for path, look in looks.items() if look.figures.bytes > MAX_BYTES}
    assert large == {}


async def test_no_page_is_wider_than_a_narrow_window(looks: dict[str, Look]) -> None:
    faults = [f"{path}: {text}" for path, look in looks.items() for text in look.overflow]
    assert not faults, "\n".join(faults)


async def test_times_are_the_readers(looks: dict[str, Look]) -> None:
    faults = [f"{path}: {time}" for path, look in looks.items() for time in look.times if not _is_local(time)]
    assert sum(len(look.times) for look in looks.values()) > 40
    assert not faults, "\n".join(faults)


def _is_local(time: dict[str, Any]) -> bool:
    """Whether the title is the moment in the reader's zone, and the text does not tell another zone's."""
    return bool(_LOCAL.search(time["title"])) and "UTC" not in time["text"]


async def test_nothing_moves_for_whom_it_should_not(looks: dict[str, Look]) -> None:
    faults = [f"{path}: moves: {text}" for path, look in looks.items() for text in look.moving]
    assert not faults, "\n".join(faults)


def record(figures: dict[str, Figures]) -> None:
    """Keep the figures, by path, where `PERDURE_FIGURES` says, for docs/benchmarks.md."""
    if place := os.environ.get("PERDURE_FIGURES"):
        Path(place).write_text(json.dumps({path: vars(found) for path, found in figures.items()}, indent=1))


def addresses(found: Sequence[dict[str, object]]) -> list[str]:
    """The `web_url` of what REST gives."""
    return [str(item["web_url"]) for item in found if item.get("web_url")]


async def test_no_web_url_of_the_api_is_dead(world: World, chromium: Browser) -> None:
    rest = world.live.root.rest
    given = addresses(await rest.listed("/projects")) + addresses(await rest.listed("/groups"))
    given += addresses(await rest.listed("/users"))
    for project in (world.shop.id, world.bulk.id):
        route = f"/projects/{project}"
        pipelines = await rest.listed(f"{route}/pipelines")
        given += addresses(pipelines)
        for pipeline in pipelines[:8]:
            given += addresses(await rest.get(f"{route}/pipelines/{pipeline['id']}/jobs", per_page=20))
            given += addresses(await rest.get(f"{route}/pipelines/{pipeline['id']}/bridges"))
        for name in ("merge_requests", "repository/commits", "environments", "pipeline_schedules"):
            given += addresses(await rest.listed(f"{route}/{name}"))
    assert len(set(given)) > 60
    follower = Follower(world.url, await session_of(chromium, world.live, world.live.root), tuple(world.live.paths))
    found = await follower.ask(*sorted(set(given)))
    assert not found.dead, "\n".join(found.dead)
