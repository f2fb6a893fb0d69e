"""Every page that links lead to, as an administrator, a developer and a stranger: nothing is dead, nothing is wrong.

Marked slow: it follows some hundred links and opens each kind of page in a browser, in two themes.
"""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest
from playwright.async_api import Browser

from tests.browser.links import Follower, Found
from tests.browser.live_stack import Person
from tests.browser.scenery.world import World
from tests.browser.visits import Figures, Visitor, session_of, visitor

pytestmark = pytest.mark.slow

MAX_BYTES: Final = 150_000
_DARK_ALONE: Final = {"runOnly": ["color-contrast", "link-in-text-block"]}
"""What depends on the theme."""


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


async def test_every_kind_of_page_is_in_order_in_both_themes(world: World, chromium: Browser, pages: Found) -> None:
    faults: dict[str, list[str]] = {}
    figures: dict[str, Figures] = {}
    async with visitor(chromium, world.live, world.live.root, sizes=True) as tab:
        striking = {path: path for path in await world.striking()}
        for kind, path in sorted({**striking, **pages.pages}.items()):
            figures[kind], wrong = await looked_at(tab, path)
            if wrong:
                faults[path] = wrong
    record(figures)
    assert not faults, "\n".join(f"{path}: {text}" for path, texts in faults.items() for text in texts)
    assert {kind: found.bytes for kind, found in figures.items() if found.bytes > MAX_BYTES} == {}


async def looked_at(tab: Visitor, path: str) -> tuple[Figures, list[str]]:
    """Open a page: figures, and what is wrong with it."""
    tab.faults.clear()
    await tab.page.emulate_media(color_scheme="light")
    figures = await tab.visit(path)
    wrong = [f"axe: {text}" for text in await tab.serious()]
    await tab.page.emulate_media(color_scheme="dark")
    await tab.settled()
    wrong += [f"axe, dark: {text}" for text in await tab.serious(**_DARK_ALONE)]
    return figures, [*tab.faults.all(), *wrong]


def record(figures: dict[str, Figures]) -> None:
    """Keep the figures where `PERDURE_FIGURES` says, for docs/benchmarks.md."""
    if place := os.environ.get("PERDURE_FIGURES"):
        Path(place).write_text(json.dumps({kind: vars(found) for kind, found in figures.items()}, indent=1))


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
