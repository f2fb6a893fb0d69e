"""The protocol client against a server that goes away, loses answers and says no."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web

from domain.errors import Forbidden, Invalid, NotFound, TooLarge, Unavailable
from fleet.backoff import Backoff, retry_after_seconds
from fleet.client import JobKey, Output, RunnerClient, Upload, api_base
from fleet.features import runner_info
from fleet.reply import Answer
from tests.fleet.jobs import payload
from tests.fleet.server import ProtocolServer, answer, cut, lose_answer

KEY = JobKey(1, "glcbt-1-secret")


@pytest.fixture
async def waits(server: ProtocolServer) -> AsyncIterator[tuple[RunnerClient, list[float]]]:
    """A client with the real waits, which are noted instead of waited."""
    waited: list[float] = []

    async def note(seconds: float) -> None:
        waited.append(seconds)
        await asyncio.sleep(0)

    async with RunnerClient(server.url, "glrt-x", system_id="s_0", info=runner_info(), sleep=note) as client:
        yield client, waited


@pytest.mark.parametrize(
    ("url", "base"),
    [
        ("http://h:80/", "http://h:80/api/v4/"),
        ("https://h/gitlab/ci", "https://h/gitlab/api/v4/"),
        ("https://h/ci/", "https://h/api/v4/"),
    ],
)
def test_api_base(url: str, base: str) -> None:
    assert api_base(url) == base


def test_api_base_refuses_other_schemes() -> None:
    with pytest.raises(Invalid, match="http"):
        api_base("ftp://h")


@pytest.mark.parametrize(("header", "seconds"), [("5", 5.0), (None, None), ("Wed, 01 Jan 2031 00:00:00 GMT", None)])
def test_retry_after_takes_integers_only(header: str | None, seconds: float | None) -> None:
    assert retry_after_seconds(header) == seconds


def test_backoff_grows_to_its_ceiling() -> None:
    backoff = Backoff(first=1, ceiling=8, retry_after_limit=60)
    assert 0.5 <= backoff.pause(0) <= 1
    assert 4 <= backoff.pause(50) <= 8
    assert backoff.pause(0, 3600.0) == 60


async def test_verify(client: RunnerClient, server: ProtocolServer) -> None:
    assert (await client.verify()).id == 7
    (seen,) = server.seen
    assert seen.body["system_id"] == "s_0123456789ab"
    assert seen.body["info"]["features"]["cancel_gracefully"] is True
    assert seen.body["info"]["features"]["image"] is False


async def test_verify_with_a_wrong_token(server: ProtocolServer) -> None:
    async with RunnerClient(server.url, "wrong", system_id="s_0", info={}) as client:
        with pytest.raises(Forbidden, match="token"):
            await client.verify()


async def test_request_job_echoes_the_queue_value(client: RunnerClient, server: ProtocolServer) -> None:
    empty = await client.request_job()
    assert (empty.status, empty.payload, empty.last_update) == (204, None, "v1")
    assert "last_update" not in server.seen[0].body
    server.queue.append(payload())
    taken = await client.request_job(empty.last_update)
    assert taken.payload is not None
    assert taken.payload["id"] == 1
    assert server.seen[1].body["last_update"] == "v1"
    assert taken.last_update == "v1"


async def test_request_job_with_a_refused_token(client: RunnerClient, server: ProtocolServer) -> None:
    server.faults["request"].append(answer(403))
    with pytest.raises(Forbidden):
        await client.request_job()


async def test_request_job_conflict_is_no_error(client: RunnerClient, server: ProtocolServer) -> None:
    server.faults["request"].append(answer(409))
    assert (await client.request_job("v0")).last_update == "v0"


async def test_lost_201_is_asked_for_again_under_the_same_id(client: RunnerClient, server: ProtocolServer) -> None:
    server.queue.extend([payload(job_id=1), payload(job_id=2)])
    server.faults["request"].append(lose_answer(server._request))
    first = await client.request_job()
    second = await client.request_job()
    assert [answer.payload["id"] for answer in (first, second) if answer.payload] == [1, 2]
    ids = [seen.headers["X-Request-Id"] for seen in server.seen]
    assert len(ids) == 3
    assert ids[0] == ids[1] != ids[2]
    assert all(len(one) == 32 for one in ids)


async def test_retry_after_is_heeded_and_capped(
    server: ProtocolServer, waits: tuple[RunnerClient, list[float]]
) -> None:
    client, waited = waits
    server.faults["request"].extend(
        [answer(503, Retry_After="5"), answer(429, Retry_After="86400"), answer(500), answer(502)]
    )
    assert (await client.request_job()).status == 204
    assert len(waited) == 4
    assert 5 <= waited[0] <= 6.25
    assert waited[1] == 60
    assert waited[2] < 1


async def test_refused_connections_are_outlived(server: ProtocolServer) -> None:
    await server.stop()
    tries = 0

    async def come_back(_: float) -> None:
        nonlocal tries
        tries += 1
        if tries == 3:
            await server.start()

    async with RunnerClient(server.url, "glrt-x", system_id="s_0", info={}, sleep=come_back) as client:
        reply = await client.update_job(KEY, "running")
    assert reply.answer is Answer.ACCEPTED
    assert tries == 3


async def test_giving_up_says_what_and_where(server: ProtocolServer) -> None:
    await server.stop()
    async with RunnerClient(server.url, "glrt-x", system_id="s_0", info={}) as client:
        with pytest.raises(Unavailable, match="verify runner"):
            await client.verify(give_up_after=0.0)


async def test_update_job_leaves_out_what_is_empty(client: RunnerClient, server: ProtocolServer) -> None:
    await client.update_job(KEY, "running")
    server.logs[1] += b"x"
    await client.update_job(KEY, "failed", failure_reason="script_failure", exit_code=3, output=Output(0x8CDC1683, 1))
    first, last = (seen.body for seen in server.seen)
    assert first["output"] == {}
    assert not {"exit_code", "failure_reason", "checksum"} & first.keys()
    assert last["output"] == {"checksum": "crc32:8cdc1683", "bytesize": 1}
    assert (last["exit_code"], last["failure_reason"]) == (3, "script_failure")
    assert server.seen[0].headers["JOB-TOKEN"] == KEY.token


@pytest.mark.parametrize(
    ("status", "headers", "expected"),
    [
        (200, {}, Answer.ACCEPTED),
        (202, {}, Answer.INCOMPLETE),
        (412, {}, Answer.MISMATCH),
        (403, {}, Answer.ABORT),
        (404, {}, Answer.ABORT),
        (400, {}, Answer.FAILED),
        (200, {"Job_Status": "canceled"}, Answer.ABORT),
        (200, {"Job_Status": "failed"}, Answer.ABORT),
        (200, {"Job_Status": "running"}, Answer.ACCEPTED),
    ],
)
async def test_update_answers(
    client: RunnerClient, server: ProtocolServer, status: int, headers: dict[str, str], expected: Answer
) -> None:
    server.faults["update"].append(answer(status, **headers))
    assert (await client.update_job(KEY, "running")).answer is expected


async def test_final_update_is_taken_whatever_the_job_status_says(client: RunnerClient, server: ProtocolServer) -> None:
    server.faults["update"].append(answer(200, Job_Status="failed"))
    assert (await client.update_job(KEY, "failed")).answer is Answer.ACCEPTED


async def test_canceling_is_told(client: RunnerClient, server: ProtocolServer) -> None:
    server.status[1] = "canceling"
    reply = await client.update_job(KEY, "running")
    assert reply.canceling
    assert reply.answer is Answer.ACCEPTED


async def test_patch_trace(client: RunnerClient, server: ProtocolServer) -> None:
    assert (await client.patch_trace(KEY, 0, b"hello")).answer is Answer.ACCEPTED
    again = await client.patch_trace(KEY, 0, b"hello")
    assert (again.answer, again.offset) == (Answer.WRONG_OFFSET, 5)
    assert server.seen[0].headers["Content-Range"] == "0-4"
    assert server.logs[1] == b"hello"


@pytest.mark.parametrize(("status", "expected"), [(200, Answer.FAILED), (204, Answer.FAILED), (404, Answer.NOT_FOUND)])
async def test_patch_answers(client: RunnerClient, server: ProtocolServer, status: int, expected: Answer) -> None:
    server.faults["patch"].append(answer(status))
    assert (await client.patch_trace(KEY, 0, b"x")).answer is expected


@pytest.mark.parametrize(("value", "seconds"), [("60", 60.0), ("0", None), ("soon", None), ("99999", 900.0)])
async def test_update_interval(client: RunnerClient, server: ProtocolServer, value: str, seconds: float | None) -> None:
    server.faults["patch"].append(answer(202, X_GitLab_Trace_Update_Interval=value))
    assert (await client.patch_trace(KEY, 0, b"x")).interval == seconds


async def test_upload_outlives_faults(client: RunnerClient, server: ProtocolServer, tmp_path: Path) -> None:
    file = tmp_path / "a.zip"
    file.write_bytes(b"z" * 300_000)
    server.faults["upload"].extend([answer(503, Retry_After="1"), cut, answer(500)])
    await client.upload_artifact(KEY, Upload(lambda: file.open("rb"), "a.zip", "archive", "zip", "1 day"))
    (upload,) = server.uploads[1]
    assert upload.content == file.read_bytes()
    assert upload.filename == "a.zip"
    assert upload.query == {"artifact_type": "archive", "artifact_format": "zip", "expire_in": "1 day"}


@pytest.mark.parametrize(("status", "error"), [(403, Forbidden), (413, TooLarge), (400, Invalid), (200, Invalid)])
async def test_upload_refused(
    client: RunnerClient, server: ProtocolServer, tmp_path: Path, status: int, error: type[Exception]
) -> None:
    file = tmp_path / "a.zip"
    file.write_bytes(b"z")
    server.faults["upload"].append(answer(status))
    with pytest.raises(error, match=str(status)):
        await client.upload_artifact(KEY, Upload(lambda: file.open("rb"), "a.zip", "archive", "zip"))


async def test_download_starts_again_when_it_breaks_off(
    client: RunnerClient, server: ProtocolServer, tmp_path: Path
) -> None:
    server.archives[5] = b"archive" * 100_000

    async def half(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "700000"})
        await response.prepare(request)
        await response.write(b"archive" * 50_000)
        assert request.transport is not None
        request.transport.abort()
        return response

    server.faults["download"].append(half)
    target = tmp_path / "got"
    await client.download_artifact(JobKey(5, "t"), lambda: target.open("wb"))
    assert target.read_bytes() == server.archives[5]
    assert len(server.seen) == 2


async def test_download_redirect_keeps_the_token_from_other_hosts(
    client: RunnerClient, server: ProtocolServer, tmp_path: Path
) -> None:
    headers: list[dict[str, str]] = []

    async def store(request: web.Request) -> web.Response:
        headers.append(dict(request.headers))
        return web.Response(body=b"from the store")

    app = web.Application()
    app.router.add_get("/object", store)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    server.faults["download"].append(answer(302, Location=f"http://127.0.0.1:{port}/object"))
    await client.download_artifact(JobKey(5, "secret"), lambda: (tmp_path / "got").open("wb"))
    await runner.cleanup()
    assert (tmp_path / "got").read_bytes() == b"from the store"
    assert "JOB-TOKEN" not in {name.upper() for name in headers[0]}


@pytest.mark.parametrize(("status", "error"), [(401, Forbidden), (403, Forbidden), (404, NotFound)])
async def test_download_refused(
    client: RunnerClient, server: ProtocolServer, tmp_path: Path, status: int, error: type[Exception]
) -> None:
    server.faults["download"].append(answer(status))
    with pytest.raises(error):
        await client.download_artifact(JobKey(5, "t"), lambda: (tmp_path / "got").open("wb"))
    assert not await asyncio.to_thread(os.listdir, tmp_path)
