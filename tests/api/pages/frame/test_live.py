"""Live pages: events."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

import httpx

from api.pages.frame.live import events
from api.pages.frame.live_parts import Fragment
from api.pages.frame.templates import fragment
from auth.permissions import NOBODY, Caller
from domain.errors import NotFound
from models.notifications import pipeline_topic
from tests.api.v4.site import Site, serving
from tests.waiting import HANGS, eventually


class Board:
    """Something to draw."""

    def __init__(self) -> None:
        self.text = "one"
        self.draws = 0

    async def draw(self) -> Fragment:
        self.draws += 1
        if self.text == "gone":
            raise NotFound("404")
        return Fragment(f"<p>{self.text}</p>\n<p>x</p>", {})


def drawn_by(board: Board, site: Site, known: str = "") -> AsyncGenerator[bytes, None]:
    """The events of a board, for a browser that has this version."""
    stream = events(site.services, board.draw, ("t",), known)
    assert isinstance(stream, AsyncGenerator)
    return stream


async def next_event(stream: AsyncIterator[bytes]) -> bytes:
    async with asyncio.timeout(HANGS):
        while True:
            part = await anext(stream)
            if part.startswith(b"event:"):
                return part


async def test_a_change_is_sent_once_and_carries_its_version(site: Site) -> None:
    board = Board()
    async with aclosing(drawn_by(board, site)) as stream:
        first = await next_event(stream)
        version = (await board.draw()).version
        whole = b'event: part\ndata: <div id="live-content"><p>one</p>\ndata: <p>x</p></div>\nid: %b\n\n'
        assert first == whole % version.encode()
        board.text = "two"
        await site.services.notifications.notify("t")
        assert b"<p>two</p>" in await next_event(stream)


async def test_a_browser_that_comes_back_gets_only_what_it_does_not_have(site: Site) -> None:
    board = Board()
    async with aclosing(drawn_by(board, site, (await board.draw()).version)) as stream:
        waiting = asyncio.create_task(next_event(stream))

        async def drawn() -> bool:
            return board.draws > 1

        await eventually(drawn, "the page was drawn")
        assert not waiting.done()
        board.text = "two"
        assert b"<p>two</p>" in await waiting  # nobody notified: the second look finds it


async def test_the_stream_ends_when_the_page_may_not_be_seen_any_more_and_when_we_drain(site: Site) -> None:
    board = Board()
    async with aclosing(drawn_by(board, site)) as stream:
        await next_event(stream)
        board.text = "gone"
        assert [part async for part in stream] == []
    site.services.drain.begun = True
    assert [part async for part in events(site.services, board.draw, ("t",), "")] == [b"retry: 2000\n\n"]


async def test_two_readers_do_not_wake_each_other_for_ever(site: Site) -> None:
    boards = [Board(), Board()]
    streams = [events(site.services, board.draw, ("t",), "") for board in boards]
    for stream in streams:
        await next_event(stream)
    waiting = [asyncio.create_task(next_event(stream)) for stream in streams]
    await asyncio.wait(waiting, timeout=1.5)
    await site.services.notifications.notify("t", count=1000)
    await asyncio.wait(waiting, timeout=1.5)
    assert all(board.draws <= 4 for board in boards)
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)


async def test_a_real_browser_connection_sees_a_job_end(site: Site) -> None:
    pipeline = await site.world.pipeline()
    headers = {"PRIVATE-TOKEN": site.root.token}
    async with serving(site) as url, httpx.AsyncClient(trust_env=False, headers=headers, timeout=20) as client:
        path = f"{url}/{await site.path()}/-/pipelines/{pipeline}/events"
        async with client.stream("GET", path) as response:
            assert response.headers["content-type"].startswith("text/event-stream")
            lines = response.aiter_lines()
            seen = [line async for line in _until(lines, "Pending")]
            job = await site.world.job()
            seen += [line async for line in _until(lines, "Running")]
            await site.world.put(job, "failed", failure_reason="script_failure")
            await site.services.notifications.notify(pipeline_topic(pipeline))
            seen += [line async for line in _until(lines, "Failed")]
        assert sum(line == "event: part" for line in seen) >= 3


async def _until(lines: AsyncIterator[str], text: str) -> AsyncIterator[str]:
    async with asyncio.timeout(HANGS):
        async for line in lines:
            yield line
            if text in line:
                return


def test_the_version_follows_the_content() -> None:
    values = {"newest": {}, "warned": set(), "number": 1, "last": 1, "projects": [], "url": "http://x"}
    nobody = fragment("projects/_projects.html", caller=NOBODY, **values)
    assert fragment("projects/_projects.html", caller=NOBODY, **values) == nobody
    assert fragment("projects/_projects.html", caller=Caller(1, "ada"), **values).version != nobody.version
