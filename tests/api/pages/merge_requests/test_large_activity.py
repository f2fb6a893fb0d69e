"""Much that was said: each page has a bound of notes and of characters, and what is beyond is a link away."""

import re
from html import unescape

import pytest
from sqlalchemy import insert

from api.pages.frame.shown_texts import MAX_PAGE, MAX_PLAIN
from api.pages.merge_requests.activity import ANSWERS, PER_PAGE
from domain.merge_requests.notes import Kind
from models.repositories.merge_requests import merge_request_notes
from models.repositories.paging import RESPONSE_BYTES
from settings import RateLimits
from tests.api.pages.merge_requests.test_merge_request import Pages
from tests.api.v4.site import Site, open_site

THREAD = "a" * 40


async def say(site: Site, *bodies: str, thread: str = "", internal: bool = False) -> list[int]:
    """Write notes into the database, in one thread or each by itself; their ids."""
    now = site.services.clock()
    rows = [
        {
            "merge_request_id": 1,
            "discussion": thread or merge_request_notes.new_discussion(),
            "author_id": site.root.id,
            "body": body,
            "kind": Kind.THREAD if thread else Kind.INDIVIDUAL,
            "system": False,
            "internal": internal,
            "resolvable": bool(thread),
            "created_at": now,
            "updated_at": now,
        }
        for body in bodies
    ]
    table = merge_request_notes.note
    async with site.services.database.write() as connection:
        return list((await connection.execute(insert(table).values(rows).returning(table.c.id))).scalars())


def links(text: str, word: str) -> list[str]:
    """The addresses of the links that say something with this word."""
    found = re.findall(r'<a [^>]*href="([^"]+)"[^>]*>([^<]*)</a>', text)
    return [unescape(address).partition("#")[0] for address, says in found if word in says]


@pytest.fixture
async def pages(site: Site) -> Pages:
    """A project with an open merge request."""
    pages = Pages(site)
    await pages.merging.begin()
    await pages.merging.feature("feature")
    return pages


async def test_of_a_long_thread_the_first_note_and_the_newest_are_shown_and_the_others_by_a_link(pages: Pages) -> None:
    bodies = [f"answer {number}." for number in range(400)]
    await say(pages.site, *bodies, thread=THREAD)
    text = await pages.get("/1")
    shown = [body for body in bodies if f"<p>{body}</p>" in text]
    assert shown == [bodies[0], *bodies[-ANSWERS:]]
    assert links(text, "more of this thread") == [f"?thread={THREAD}"]
    assert f"Show {400 - 1 - ANSWERS} more" in text
    seen, place = set[str](), f"?thread={THREAD}"
    for _ in range(400 // PER_PAGE):
        page = await pages.get(f"/1{place}")
        here = {body for body in bodies if f"<p>{body}</p>" in page}
        assert len(here) == PER_PAGE
        seen |= here
        (place,) = links(page, "Older") or [""]
    assert (seen, place) == (set(bodies), "")
    assert "Page 8 of 8" in page
    assert links(page, "All activity") == [f"/{await pages.site.path()}/-/merge_requests/1"]
    await pages.get(f"/1?thread={'b' * 40}", status=404)
    await pages.get("/1?note=99999", status=404)


async def test_texts_beyond_the_bound_of_a_page_have_one_for_themselves(pages: Pages) -> None:
    keys = await say(pages.site, *(f"{letter * 19_000} end" for letter in "abcdefghijklmnopqrstuvwxyz"))
    text = await pages.get("/1")
    assert len(text) < 2 * MAX_PAGE
    left_out = links(text, "Show them")
    assert left_out == [f"?note={key}" for key in keys[: len(left_out)]]
    assert len(left_out) == 26 - MAX_PAGE // 19_012
    one = await pages.get(f"/1{left_out[0]}")
    assert f"<p>{'a' * 19_000} end</p>" in one
    assert "b" * 19_000 not in one


async def test_a_text_that_is_not_rendered_says_why(pages: Pages) -> None:
    (key,) = await say(pages.site, "**x**" * 5_000)
    text = await pages.get("/1")
    assert "more than 20,000 characters are not rendered" in text
    assert "**x****x**" in text
    (key,) = await say(pages.site, "y" * 150_000)
    text = await pages.get(f"/1?note={key}")
    assert f"the first {MAX_PLAIN:,} of 150,000" in text
    assert len(text) < 2 * MAX_PAGE


async def test_what_is_for_members_is_on_no_page_of_others(pages: Pages) -> None:
    """Neither in a thread of its own, nor by its number, nor in a count."""
    await pages.site.set_project(visibility="public")
    (key,) = await say(pages.site, "for members", internal=True)
    await say(pages.site, "hidden", thread=THREAD, internal=True)
    guest = await pages.site.person("guest")
    assert "for members" in await pages.get("/1")
    assert "for members" not in await pages.get("/1", guest)
    await pages.get(f"/1?note={key}", guest, status=404)
    await pages.get(f"/1?thread={THREAD}", guest, status=404)


async def test_a_long_thread_is_resolved_on_its_page_and_read_in_pages(pages: Pages) -> None:
    await say(pages.site, *("z" * 900_000 for _ in range(10)), thread=THREAD)
    call, place = pages.merging.call, f"merge_requests/1/discussions/{THREAD}"
    for path in ("merge_requests/1/notes", "merge_requests/1/discussions", place, f"{place}/notes"):
        refused = await call("GET", path)
        assert refused.status_code == 413, path
        assert f"at most {RESPONSE_BYTES // 1024**2} MiB" in refused.json()["message"]
    assert (await call("PUT", place, json={"resolved": True})).status_code == 413
    for path in ("merge_requests/1/notes", f"{place}/notes"):
        few = await call("GET", f"{path}?per_page=2")
        assert [len(note["body"]) for note in few.json()] == [900_000] * 2
    assert "not resolved" in await pages.get("/1")
    await pages.done(f"/1/discussions/{THREAD}/resolve", resolved="true")
    assert "not resolved" not in await pages.get("/1")


async def test_who_writes_too_often_is_told_so_and_keeps_the_text(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("limited")
    async with open_site(folder, "", rates=RateLimits(notes_written=3)) as site:
        pages = Pages(site)
        await pages.merging.begin()
        await pages.merging.feature("feature")
        note = await pages.merging.good("POST", "merge_requests/1/notes", json={"body": "one"})
        await pages.merging.good("POST", "merge_requests/1/discussions", json={"body": "two"})
        await pages.merging.good("PUT", f"merge_requests/1/notes/{note['id']}", json={"body": "changed"})
        refused = await pages.press("/1/notes", body="the fourth")
        assert (refused.status_code, "the fourth" in refused.text) == (429, True)
        assert "requested too many times" in refused.text
        call = await pages.merging.call("POST", "merge_requests/1/notes", json={"body": "five"})
        assert (call.status_code, call.headers["ratelimit-name"]) == (429, "notes_create")
        ada = await site.person("ada", 30)
        await pages.merging.good("POST", "merge_requests/1/notes", ada, json={"body": "another account"})
