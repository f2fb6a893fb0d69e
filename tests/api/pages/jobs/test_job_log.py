"""The log of a job for its page: outline, windows, search, raw."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

import httpx
import pytest

from loops.archiver import Archiver
from tests.api.v4.site import Site

COLOURED = b"\x1b[31mone\ntw"


Reading: TypeAlias = tuple[httpx.AsyncClient, str, dict[str, Any]]


@asynccontextmanager
async def reading(
    site: Site, log: bytes, state: str = "", **body: Any
) -> AsyncIterator[tuple[httpx.AsyncClient, str, dict[str, Any]]]:
    """A job with this log: a client, the address of its page, the job itself."""
    await site.world.pipeline()
    job = await site.world.job()
    for start in range(0, len(log), 500_000):
        assert (await site.world.patch(job, start, log[start : start + 500_000])).status_code == 202
    if state:
        await site.world.put(job, state, log)
    async with site.client(site.root) as client:
        yield client, f"/{await site.path()}/-/jobs/{job['id']}", job


async def lines(client: httpx.AsyncClient, path: str, first: int = 1, count: int = 200) -> list[str]:
    response = await client.get(f"{path}/log/lines", params={"first": first, "count": count})
    assert response.status_code == 200, response.text
    return [line[0] for line in response.json()["lines"]]


async def all_hits(client: httpx.AsyncClient, path: str, query: str) -> list[int]:
    """As a viewer asks: until nothing is left to be searched."""
    found: list[int] = []
    place: int | None = 1
    while place is not None:
        part = (await client.get(f"{path}/log/search", params={"q": query, "first": place})).json()
        found += part["lines"]
        place = part["next"]
    return found


async def test_lines_of_a_growing_log_by_number(site: Site) -> None:
    async with reading(site, COLOURED) as (client, path, job):
        assert await lines(client, path) == ['<span class="f1">one</span>', '<span class="f1">tw</span>']
        before = (await client.get(f"{path}/log/outline")).json()
        assert (before["total"], before["frozen"], before["sections"]) == (2, False, [])
        await site.world.patch(job, 11, b"o\nthree")
        assert await lines(client, path, 2) == ['<span class="f1">two</span>', '<span class="f1">three</span>']
        after = (await client.get(f"{path}/log/outline", params={"seen": before["seen"]})).json()
        assert (after["total"], after["size"]) == (3, 18)
        assert "sections" not in after
        await site.world.put(job, "success", COLOURED + b"o\nthree")
        assert await lines(client, path, 3) == ['<span class="f1">three</span>']
        assert await lines(client, path, 4) == []
        raw = await client.get(f"{path}/raw", params={"offset": 9})
        kept = await client.get(f"{path}/log/download")
    assert raw.text == "two\nthree"
    assert raw.headers["content-type"].startswith("text/plain")
    assert kept.content == COLOURED + b"o\nthree"
    assert kept.headers["content-disposition"] == f'attachment; filename="job-{job["id"]}.log"'


async def test_a_log_that_is_sent_again_is_another_generation(site: Site) -> None:
    async with reading(site, b"wrong\nlog\n") as (client, path, job):
        first = (await client.get(f"{path}/log/outline")).json()
        again = await site.world.put(job, "success", b"right\n")
        assert again.status_code == 412
        await site.world.patch(job, 0, b"right\n")
        second = (await client.get(f"{path}/log/outline", params={"seen": first["seen"]})).json()
        assert (first["generation"], second["generation"], second["total"]) == (0, 1, 1)
        assert await lines(client, path) == ["right"]


async def test_any_line_of_a_long_log_before_and_after_it_was_moved(site: Site) -> None:
    log = b"".join(b"%06d %s\n" % (number, b"x" * 40) for number in range(60_000))
    async with reading(site, log, "failed") as (client, path, _job):
        for _ in range(2):
            for first in (1, 30_000, 59_901):
                found = await lines(client, path, first, 100)
                assert [int(line[:6]) for line in found] == list(range(first - 1, first + 99))
            assert await all_hits(client, path, "00777 X") == [778]
            services = site.services
            await Archiver(services.database, services.store, services.notifications).move()
        page = (await client.get(path)).text
    assert f'<span class="said">059999 {"x" * 40}</span>' in page
    assert "59800 lines come before it" in page
    assert len(page) < 100_000


async def test_a_line_without_end_is_shown_in_part(site: Site) -> None:
    async with reading(site, b"first\n" + b"x" * 1_000_000) as (client, path, job):
        _, shown = await lines(client, path)
        assert 60_000 < len(shown) < 70_000
        await site.world.patch(job, 1_000_006, b"end\nlast\n")
        _, shown, last = await lines(client, path)
    assert shown.endswith("xend")
    assert last == "last"


async def test_sections_and_where_it_failed_are_told(site: Site) -> None:
    log = (
        b"section_start:1:a[collapsed=true]\r\x1b[0K<b>Go\nfine\nsection_end:61:a\r\x1b[0K\n"
        b"section_start:61:b_c\r\nx: error: no\nrest\nsection_end:62:b_c\r\x1b[0KERROR: Job failed\n"
    )
    async with reading(site, log, "failed") as (client, path, _job):
        found = (await client.get(f"{path}/log/outline")).json()
    assert found["sections"] == [[1, 3, 0, True, 60, True, "&lt;b&gt;Go"], [4, 7, 0, False, 1, False, "b c"]]
    assert found["failure"] == [5, [1]]
    assert found["errors"] == [5]


async def test_secrets_are_hidden_in_headings_lines_and_hits(site: Site) -> None:
    log = (
        b"section_start:1:glpat-aaaaaaaaaaaaaaaaaaaa\r\x1b[0Kx glpat-bbbbbbbbbbbbbbbbbbbb\nglpat-cccccccccccccccccccc\n"
    )
    async with reading(site, log, "success") as (client, path, _job):
        outline = (await client.get(f"{path}/log/outline")).text
        shown = await lines(client, path)
        hits = (await client.get(f"{path}/log/search", params={"q": "cccc"})).json()
    assert "glpat-" not in outline
    assert "glpat-" not in "".join(shown)
    assert hits["lines"] == []


@pytest.mark.parametrize(
    ("query", "lines_found"),
    [
        ({"q": "TWO"}, [2]),
        ({"q": "TWO", "exact": True}, []),
        ({"q": "^t.o$", "pattern": True}, [2]),
        ({"q": "o", "first": 2}, [2]),
        ({}, []),
    ],
)
async def test_a_search_names_lines(site: Site, query: dict[str, Any], lines_found: list[int]) -> None:
    async with reading(site, b"one\ntwo\nthree") as (client, path, _job):
        assert (await client.get(f"{path}/log/search", params=query)).json()["lines"] == lines_found


async def test_what_is_no_pattern_is_said_to_be_none(site: Site) -> None:
    async with reading(site, b"one\n") as (client, path, _job):
        found = (await client.get(f"{path}/log/search", params={"q": "(", "pattern": "true"})).json()
        assert "re2" in found["fault"]
        for wrong in ({"q": "x" * 501}, {"q": "x", "first": "0"}):
            assert (await client.get(f"{path}/log/search", params=wrong)).status_code in {400, 422}
