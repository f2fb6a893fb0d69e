"""Texts become HTML once, in a process of the compilers: within a time and a size, and only while they are the same."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import Executor
from pathlib import Path

import pytest

from application.configurations.compiler_pool import compiler_pool
from application.texts import renderings
from application.texts.markdown import MAX_HTML, MAX_RENDERED, VERSION, page_html
from application.texts.renderings import Renderings
from models.repositories.merge_requests import merge_request_notes
from models.repositories.texts import rendered_texts
from models.repositories.texts.rendered_texts import NOTES, Beginning, Measure
from tests.api.v4.merge_requests.merging import Merging
from tests.api.v4.site import Site, open_site
from tests.waiting import eventually

_COLUMNS = 60
WIDE = "|" + "a|" * _COLUMNS + "\n|" + "-|" * _COLUMNS + "\n" + "|\n" * 9_700
"""A table of 60 columns whose rows are filled up: seconds of work, and 37 times as much HTML."""
NAME = "merge_requests/1/notes"


@pytest.fixture(scope="module")
def pool() -> Iterator[Executor]:
    """The processes of a server, for all tests here."""
    with compiler_pool() as made:
        yield made


@pytest.fixture
async def here(tmp_path: Path, pool: Executor) -> AsyncIterator[Merging]:
    """A merge request, and the renderings of a server."""
    async with open_site(tmp_path, "") as site:
        here = Merging(site)
        await here.begin()
        await here.feature("feature")
        site.services.renderings._compilers = pool
        yield here


async def known(site: Site, key: int) -> Measure | None:
    async with site.services.database.read() as connection:
        return (await rendered_texts.measures(connection, NOTES, [key], VERSION)).get(key)


async def html(site: Site, key: int) -> str | None:
    async with site.services.database.read() as connection:
        return (await rendered_texts.html_of(connection, NOTES, [key])).get(key)


async def settled(site: Site, key: int) -> Measure:
    async def there() -> bool:
        return await known(site, key) is not None

    await eventually(there, "the text was rendered")
    found = await known(site, key)
    assert found is not None
    return found


async def test_a_note_is_rendered_when_it_is_written_and_again_when_it_is_another(here: Merging) -> None:
    note = await here.good("POST", NAME, json={"body": "**loud**"})
    key = note["id"]
    assert await settled(here.site, key) == Measure(key, 8, len("<p><strong>loud</strong></p>\n"), is_html=True)
    await here.good("PUT", f"{NAME}/{key}", json={"body": "*soft*"})
    await settled(here.site, key)
    assert await html(here.site, key) == "<p><em>soft</em></p>\n"
    assert (await here.call("DELETE", f"{NAME}/{key}")).status_code == 204
    assert await known(here.site, key) is None


async def test_a_note_that_is_changed_while_it_is_rendered_is_rendered_again(
    here: Merging, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def held(self: Renderings, shown: str) -> tuple[str | None, float]:
        begun.set()
        await go_on.wait()
        return f"<p>{shown}</p>\n", 0.0

    monkeypatch.setattr(Renderings, "_html", held)
    note = await here.good("POST", NAME, json={"body": "first"})
    await begun.wait()
    await here.good("PUT", f"{NAME}/{note['id']}", json={"body": "second"})
    go_on.set()
    await settled(here.site, note["id"])
    assert await html(here.site, note["id"]) == "<p>second</p>\n"


@pytest.mark.parametrize("text", [WIDE, "x" * (MAX_RENDERED + 1)], ids=["costs too much", "too long"])
async def test_what_is_not_rendered_is_looked_at_once(here: Merging, text: str) -> None:
    note = await here.good("POST", NAME, json={"body": text})
    assert await settled(here.site, note["id"]) == Measure(note["id"], len(text), 0, is_html=False)


async def test_a_text_has_a_second_of_computing(here: Merging, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(renderings, "page_html", _endless)
    note = await here.good("POST", NAME, json={"body": "x"})
    assert (await settled(here.site, note["id"])).is_html is False


def _endless(_text: str) -> str:
    while True:
        sum(range(1000))


async def test_what_was_made_of_a_text_that_is_another_by_now_is_dropped(here: Merging) -> None:
    note = await here.good("POST", NAME, json={"body": "new"})
    key = note["id"]
    await settled(here.site, key)
    async with here.site.services.database.write() as connection:
        await rendered_texts.keep(connection, NOTES, Beginning(key, "old", 3), VERSION, "<p>old</p>")
    assert await html(here.site, key) == "<p>new</p>\n"


async def test_another_version_of_the_renderer_renders_again(here: Merging) -> None:
    note = await here.good("POST", NAME, json={"body": "x"})
    key = note["id"]
    await settled(here.site, key)
    async with here.site.services.database.write() as connection:
        await rendered_texts.keep(connection, NOTES, Beginning(key, "x", 1), VERSION - 1, "<p>older</p>")
    assert await known(here.site, key) is None
    async with here.site.services.database.read() as connection:
        (of,) = await rendered_texts.beginnings(connection, NOTES, [key], 10)
    here.site.services.renderings.written(NOTES, key, of.text)  # also while the first one rests
    await settled(here.site, key)
    assert await html(here.site, key) == "<p>x</p>\n"


async def test_no_more_wait_than_have_a_place(here: Merging, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(renderings, "MAX_WAITING", 2)
    waiting = Renderings(here.site.services.database, here.site.services.compilers)
    for key in range(1000, 1010):
        waiting.ask(NOTES, Beginning(key, "x", 1))
        waiting.ask(NOTES, Beginning(key, "x", 1))
    assert len(waiting._asked) == 2
    await waiting.close()


async def test_whoever_goes_ends_no_rendering(here: Merging) -> None:
    """It is for the next reader as well."""
    async with here.site.services.database.write() as connection:
        thread = merge_request_notes.new_discussion()
        values = {"discussion": thread, "author_id": here.site.root.id, "body": "x", "merge_request_id": 1}
        row = await merge_request_notes.add(connection, here.site.services.clock(), **values, **PLAIN)

    async def reader() -> None:
        here.site.services.renderings.ask(NOTES, Beginning(row.id, "x", 1))
        await asyncio.Event().wait()

    reading = asyncio.create_task(reader())
    await asyncio.sleep(0)
    reading.cancel()
    assert (await settled(here.site, row.id)).is_html


PLAIN = {"kind": "", "system": False, "internal": False, "resolvable": False}


def test_html_of_one_text_has_a_bound() -> None:
    assert page_html(WIDE) is None
    assert len(page_html("- a\n" * 4_900) or "") < MAX_HTML
