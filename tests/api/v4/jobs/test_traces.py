"""The log of a job as readers get it: whole, in ranges, without secrets, and its runner is told that somebody reads."""

import random
from typing import Any

import httpx
import pytest

from api.pages.jobs.job import draw
from api.v4.jobs import log as job_log
from application.access import access_to
from auth.permissions import Caller
from loops.archiver import Archiver
from models.columns import table_of
from models.repositories.logs import traces
from models.repositories.queue import leases
from models.tables.queue import LeaseClock
from tests.api.v4.site import Site

clock = table_of(LeaseClock)
LOG = b"0123456789"
SECRET = "correct horse battery"
TOKEN = b"glcbt-eyJ0eXAi.eyJpc3Mi_Jk-.c2ln"


def address(site: Site, job: dict[str, Any], path: str = "") -> str:
    """The log of a job in the REST API."""
    return f"/api/v4/projects/{site.world.project_id}/jobs/{job['id']}/trace{path}"


async def running_job(site: Site, *chunks: bytes) -> dict[str, Any]:
    """A job whose runner has sent these chunks."""
    await site.world.pipeline()
    job = await site.world.job()
    start = 0
    for chunk in chunks:
        assert (await site.world.patch(job, start, chunk)).status_code == 202
        start += len(chunk)
    return job


async def archived(site: Site) -> None:
    """Move the logs of ended jobs to the store."""
    assert await Archiver(site.services.database, site.services.store, site.services.notifications).move() == 1


async def get(site: Site, path: str, span: str = "") -> httpx.Response:
    """Read as the administrator."""
    async with site.client(site.root) as client:
        return await client.get(path, headers={"Range": span} if span else {})


@pytest.fixture
async def known(site: Site) -> None:
    """Jobs have a masked variable."""
    await site.masked_variable(SECRET)


@pytest.mark.parametrize(
    ("span", "part", "place"),
    [
        ("bytes=0-3", b"0123", "0-3"),
        ("bytes=4-", b"456789", "4-9"),
        ("bytes=8-100", b"89", "8-9"),
        ("bytes=-3", b"789", "7-9"),
        ("bytes=-100", LOG, "0-9"),
        ("bytes=9-9", b"9", "9-9"),
    ],
)
async def test_a_range_is_given_alone(site: Site, span: str, part: bytes, place: str) -> None:
    job = await running_job(site, LOG[:4], LOG[4:])
    growing = await get(site, address(site, job), span)
    assert (growing.status_code, growing.content) == (206, part)
    assert growing.headers["content-range"] == f"bytes {place}/*"
    await site.world.put(job, "success", LOG)
    await archived(site)
    ended = await get(site, address(site, job), span)
    assert (ended.status_code, ended.content) == (206, part)
    assert ended.headers["content-range"] == f"bytes {place}/10"
    assert ended.headers["content-length"] == str(len(part))


@pytest.mark.parametrize("span", ["bytes=10-", "bytes=11-20", "bytes=-0"])
async def test_a_range_behind_the_end_is_refused_with_the_size(site: Site, span: str) -> None:
    job = await running_job(site, LOG)
    response = await get(site, address(site, job), span)
    assert (response.status_code, response.headers["content-range"]) == (416, "bytes */10")
    assert "10 bytes" in response.json()["message"]


@pytest.mark.parametrize("span", ["", "lines=0-3", "bytes=3-1", "bytes=-", "bytes=0-1,4-5", "bytes=a-b", "bytes = 0-1"])
async def test_what_is_no_single_range_gets_all(site: Site, span: str) -> None:
    job = await running_job(site, LOG)
    response = await get(site, address(site, job), span)
    assert (response.status_code, response.content, response.headers["accept-ranges"]) == (200, LOG, "bytes")


async def test_a_log_can_be_read_from_an_offset(site: Site) -> None:
    job = await running_job(site, LOG)
    assert (await get(site, address(site, job, "?offset=7"))).content == b"789"
    assert (await get(site, address(site, job, "?offset=99"))).content == b""


@pytest.mark.usefixtures("known")
async def test_no_reader_gets_a_secret_and_offsets_stay(site: Site) -> None:
    log = b"a=" + SECRET.encode() + b" t=" + TOKEN + b" ok\n"
    shown = b"a=" + b"*" * len(SECRET) + b" t=" + b"*" * len(TOKEN) + b" ok\n"
    job = await running_job(site, *(log[start : start + 7] for start in range(0, len(log), 7)))
    page = f"/{await site.path()}/-/jobs/{job['id']}"
    for is_over in (False, True):
        if is_over:
            await site.world.put(job, "success", log)
            await archived(site)
        assert (await get(site, address(site, job))).content == shown
        assert (await get(site, address(site, job), "bytes=10-40")).content == shown[10:41]
        assert (await get(site, f"{page}/raw?offset=12")).content == shown[12:]
        for path in (page, f"{page}/log/lines"):
            text = (await get(site, path)).text
            assert "*" * len(SECRET) in text
            assert "horse" not in text
            assert "glcbt-" not in text
    async for part in site.services.store.read(f"projects/{site.world.project_id}/jobs/{job['id']}/trace-0.log"):
        assert part == log  # what the runner sent: its checksum holds


@pytest.mark.usefixtures("known")
async def test_what_may_be_the_beginning_of_a_secret_is_shown_when_it_is_none(site: Site) -> None:
    job = await running_job(site, b"it is correct")
    assert (await get(site, address(site, job))).content == b"it is "
    await site.world.patch(job, 13, b" hor")
    assert (await get(site, address(site, job), "bytes=6-")).status_code == 416
    await site.world.patch(job, 17, b"izon\n")
    assert (await get(site, address(site, job))).content == b"it is correct horizon\n"
    await site.world.patch(job, 22, b"correct hor")
    await site.world.put(job, "success", b"it is correct horizon\ncorrect hor")
    assert (await get(site, address(site, job))).content == b"it is correct horizon\ncorrect hor"


@pytest.mark.usefixtures("known")
async def test_any_range_of_a_log_in_many_chunks_is_that_range_of_the_masked_whole(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_log, "PART", 500)
    generator = random.Random(6)
    words = [SECRET.encode(), TOKEN, b" ", b"\n", b"glrt-", b"correct ", b"x" * 300, generator.randbytes(50)]
    log = b"".join(generator.choices(words, k=120))
    cuts = sorted(generator.sample(range(1, len(log)), 30))
    chunks = [log[start:end] for start, end in zip([0, *cuts], [*cuts, len(log)], strict=True)]
    job = await running_job(site, *chunks)
    await site.world.put(job, "success", log)
    whole = (await get(site, address(site, job))).content
    assert len(whole) == len(log)
    assert b"horse battery" not in whole
    assert TOKEN not in whole
    for is_archived in (False, True):
        if is_archived:
            await archived(site)
        for _ in range(40):
            start, end = sorted(generator.sample(range(len(log)), 2))
            assert (await get(site, address(site, job), f"bytes={start}-{end - 1}")).content == whole[start:end]


async def tick(site: Site, ticks: int) -> None:
    """Let the lease clock go on."""
    async with site.services.database.write() as connection:
        await leases.tick(connection, 0)
        await connection.execute(clock.update().values(ticks=clock.c.ticks + ticks))


async def interval(site: Site, job: dict[str, Any], size: int) -> int:
    """How long its runner is told to wait after a chunk."""
    return int((await site.world.patch(job, size, b"x")).headers["x-gitlab-trace-update-interval"])


@pytest.mark.parametrize("reader", ["trace", "page", "window", "raw", "part"])
async def test_the_runner_sends_often_while_somebody_reads_and_seldom_otherwise(site: Site, reader: str) -> None:
    times = site.services.settings.times
    await tick(site, 1)
    job = await running_job(site, LOG)
    page = f"/{await site.path()}/-/jobs/{job['id']}"
    assert await interval(site, job, 10) == times.trace_interval_unwatched
    if reader == "part":
        caller = Caller(site.root.id, "root", is_admin=True)
        await draw(site.services, await access_to(site.services, caller, site.world.project_id), job["id"])
    else:
        paths = {"trace": address(site, job), "page": page, "window": f"{page}/log/lines", "raw": f"{page}/raw"}
        assert (await get(site, paths[reader])).status_code == 200
    assert await interval(site, job, 11) == times.trace_interval
    await tick(site, traces.WATCHED_TICKS)
    assert await interval(site, job, 12) == times.trace_interval_unwatched


async def test_many_readers_write_once_a_tick(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    await tick(site, 1)
    job = await running_job(site, LOG)
    calls, watch = 0, traces.watch

    async def counted(*given: Any) -> None:
        nonlocal calls
        calls += 1
        await watch(*given)

    monkeypatch.setattr(traces, "watch", counted)
    for _ in range(5):
        await get(site, address(site, job))
    assert calls == 1
    await tick(site, 1)
    await get(site, address(site, job))
    assert calls == 2


async def test_nobody_is_told_of_a_log_that_no_runner_writes(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(*_given: Any) -> None:
        raise AssertionError("a reader wrote")

    monkeypatch.setattr(traces, "watch", never)
    await tick(site, 3)
    pipeline = await site.world.pipeline()
    async with site.client(site.root) as client:
        (waiting, *_) = (await client.get(f"/api/v4/projects/{site.world.project_id}/pipelines/{pipeline}/jobs")).json()
    assert (await get(site, address(site, waiting))).content == b""
