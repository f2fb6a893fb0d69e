"""The log of a job as it grows, by server-sent events."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from api.v4.access import JobAccess
from api.v4.jobs import trace_events
from api.v4.jobs.log_reads import PART
from api.v4.jobs.trace_events import Place
from application.access import access_to
from auth.permissions import Caller
from models.repositories.logs import traces
from models.repositories.pipelines import jobs
from tests.api.v4.site import Site, serving

WITHIN = 30.0


class Reader:
    """Somebody who follows the log of a job, over connections that may break."""

    def __init__(self, site: Site, found: JobAccess) -> None:
        self._site, self._found = site, found
        self.last = ""
        self._stream: AsyncIterator[bytes] | None = None

    @classmethod
    async def make(cls, site: Site, job: dict[str, Any], caller: Caller | None = None) -> "Reader":
        """This caller, else the administrator."""
        caller = caller or Caller(site.root.id, "root", is_admin=True)
        project = await access_to(site.services, caller, site.world.project_id)
        async with site.services.database.read() as connection:
            return cls(site, JobAccess(await jobs.get(connection, job["id"], project.row.id), project))

    def connect(self) -> None:
        """Connect, or come back with the id of the last event."""
        self._stream = trace_events.trace_events(self._site.services, self._found, Place.parse(self.last))

    async def event(self) -> tuple[str, dict[str, Any]]:
        """The next event: kind and data."""
        if self._stream is None:
            self.connect()
        assert self._stream is not None
        async with asyncio.timeout(WITHIN):
            while not (part := await anext(self._stream)).startswith(b"event:"):
                pass
        fields = dict(line.split(": ", 1) for line in part.decode().rstrip("\n").split("\n"))
        self.last = fields["id"]
        return fields["event"], json.loads(fields["data"])

    async def over(self) -> bool:
        """Whether nothing follows."""
        assert self._stream is not None
        async with asyncio.timeout(WITHIN):
            return await anext(self._stream, None) is None


async def test_a_reader_gets_each_byte_once_and_the_end(site: Site) -> None:
    await site.world.pipeline()
    job = await site.world.job()
    await site.world.patch(job, 0, b"one\r\n\xc3")
    reader = await Reader.make(site, job)
    assert await reader.event() == ("log", {"offset": 0, "text": "one\r\n"})
    assert reader.last == "0-5"
    await site.world.patch(job, 6, b"\xa4 \xff two")
    assert await reader.event() == ("log", {"offset": 5, "text": "\u00e4 \ufffd two"})
    await site.world.put(job, "success", b"one\r\n\xc3\xa4 \xff two")
    assert await reader.event() == ("end", {"size": 13, "incomplete": False})
    assert await reader.over()


async def test_a_reader_that_comes_back_goes_on_where_it_was(site: Site) -> None:
    await site.world.pipeline()
    job = await site.world.job()
    await site.world.patch(job, 0, b"one")
    reader = await Reader.make(site, job)
    await reader.event()
    await site.world.patch(job, 3, b" two")
    reader.connect()
    assert await reader.event() == ("log", {"offset": 3, "text": " two"})
    await site.world.put(job, "success", b"one two")
    reader.connect()
    assert (await reader.event())[0] == "end"
    reader.connect()
    assert (await reader.event())[0] == "end"
    reader.last = "nonsense"
    reader.connect()
    assert await reader.event() == ("log", {"offset": 0, "text": "one two"})


async def test_a_log_that_is_sent_anew_begins_anew_and_one_that_stays_wrong_goes_back(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace_events, "RECHECK", 60)  # whoever is not woken sees nothing
    await site.world.pipeline()
    job = await site.world.job()
    await site.world.patch(job, 0, b"the first")
    reader = await Reader.make(site, job)
    await reader.event()
    assert (await site.world.put(job, "success", b"the other")).status_code == 412
    assert await reader.event() == ("reset", {"generation": 1})
    await site.world.patch(job, 0, b"other")
    assert await reader.event() == ("log", {"offset": 0, "text": "other"})
    assert (await site.world.put(job, "success", b"the other")).status_code == 200
    assert await reader.event() == ("reset", {"generation": 0})
    assert await reader.event() == ("log", {"offset": 0, "text": "the first"})
    assert await reader.event() == ("end", {"size": 9, "incomplete": True})


async def test_a_part_is_small_and_what_may_be_a_secret_waits(site: Site) -> None:
    await site.masked_variable("correct horse")
    await site.world.pipeline()
    job = await site.world.job()
    log = b"." * 3 * PART + b"correct "
    for start in range(0, len(log), 100_000):
        await site.world.patch(job, start, log[start : start + 100_000])
    reader, text = await Reader.make(site, job), ""
    while len(text) < 3 * PART:
        kind, data = await reader.event()
        assert (kind, data["offset"]) == ("log", len(text))
        assert len(data["text"]) <= 2 * PART
        text += data["text"]
    assert text == "." * 3 * PART
    await site.world.patch(job, len(log), b"horse!")
    assert (await reader.event())[1]["text"] == "*" * 13 + "!"


async def test_the_stream_ends_when_the_project_may_not_be_seen_any_more_and_when_we_drain(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace_events, "ADMITTED", 0.1)
    monkeypatch.setattr(trace_events, "RECHECK", 0.2)
    await site.set_project(visibility="public")
    await site.world.pipeline()
    job = await site.world.job()
    await site.world.patch(job, 0, b"one")
    eve = await site.person("eve")
    stranger, root = await Reader.make(site, job, Caller(eve.id, "eve")), await Reader.make(site, job)
    for reader in (stranger, root):
        await reader.event()
    await site.set_project(visibility="private")
    assert await stranger.over()
    await site.world.patch(job, 3, b"two")
    assert (await root.event())[1]["text"] == "two"
    site.services.drain.begun = True
    assert await root.over()


async def test_a_chunk_wakes_the_readers_of_its_log_and_nobody_else(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    await site.world.pipeline()
    job = await site.world.job()
    woken: list[str] = []
    notify = site.services.notifications.notify

    async def heard(topic: str, count: int = 1) -> None:
        woken.append(topic)
        await notify(topic, count)

    monkeypatch.setattr(site.services.notifications, "notify", heard)
    await site.world.patch(job, 0, b"one")
    assert woken == []
    async with site.services.database.write() as connection:
        await traces.watch(connection, [job["id"]])
    await site.world.patch(job, 3, b"two")
    assert woken == [f"trace-{job['id']}"]


async def test_by_a_real_connection(site: Site) -> None:
    await site.world.pipeline()
    job = await site.world.job()
    headers = {"PRIVATE-TOKEN": site.root.token}
    path = f"/api/v4/projects/{site.world.project_id}/jobs/{job['id']}/trace/live"
    async with serving(site) as url, httpx.AsyncClient(trust_env=False, headers=headers, timeout=WITHIN) as client:
        async with client.stream("GET", f"{url}{path}") as response:
            assert response.headers["content-type"].startswith("text/event-stream")
            lines = response.aiter_lines()
            await site.world.patch(job, 0, b"one\n")
            seen = [line async for line in _until(lines, "id: 0-4")]
            await site.world.put(job, "success", b"one\n")
            seen += [line async for line in lines]
        assert 'data: {"offset":0,"text":"one\\n"}' in seen
        assert seen[-4:-1] == ["event: end", 'data: {"size":4,"incomplete":false}', "id: 0-4"]


async def _until(lines: AsyncIterator[str], wanted: str) -> AsyncIterator[str]:
    async with asyncio.timeout(WITHIN):
        async for line in lines:
            yield line
            if line == wanted:
                return
