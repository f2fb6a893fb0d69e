"""The page of components, glyphs, and the sheet they are drawn with."""

import re
from hashlib import sha256
from pathlib import Path

from defusedxml import ElementTree

from api.pages.frame.assets import SHEET, assets
from api.pages.frame.components import COLOURS
from api.pages.frame.glyphs import STATES, favicon, symbol_of
from domain.pipelines.shown_status import SHOWN
from tests.api.pages.test_pages import browser
from tests.api.v4.site import Site

MACROS = Path("api/pages/templates/frame/macros.html")


async def test_it_shows_every_state_and_colour(site: Site) -> None:
    async with browser(site) as client:
        page = (await client.get("/-/components")).text
    for shown in SHOWN.values():
        assert f'class="chip {shown.group}"' in page
    for colour in COLOURS:
        assert f"<code>--{colour}</code>" in page


def test_ten_glyphs_draw_every_state() -> None:
    assert len(STATES) == 10
    assert len(set(STATES.values())) == 10
    assert {symbol_of(shown.group) for shown in SHOWN.values()} | {symbol_of("failed-with-warnings")} == set(STATES)
    for symbol in STATES:
        assert ElementTree.fromstring(favicon(symbol)).tag.endswith("svg")


def test_colours_are_named_in_one_place() -> None:
    """All but shadows, and the log's palette, say `var(--…)`; every name that is used is there."""
    sheet = assets().plain[SHEET].decode()
    named = set(re.findall(r"(--[a-z0-9-]+):", sheet))
    assert set(re.findall(r"var\((--[a-z0-9-]+)\)", sheet)) <= named, (
        "one with a value of its own may come from a script"
    )
    assert {f"--{colour}" for colour in COLOURS} <= named
    for path in Path("api/pages/static/styles").glob("*.css"):
        if path.stem not in {"tokens", "log-palette"}:
            assert not re.search(r"#[0-9a-fA-F]{3,8}\b", path.read_text()), path


def test_scripts_of_others_are_as_their_packages_have_them() -> None:
    folder = Path("api/pages/static/vendor")
    told = dict(re.findall(r"\| `([^`]+\.js)` .*\| `([0-9a-f]{64})` \|", (folder / "README.md").read_text()))
    assert told == {path.name: sha256(path.read_bytes()).hexdigest() for path in folder.glob("*.js")}
