"""The front under real nginx: what passes, what it answers when no API does, what it never repeats."""

import asyncio
from collections.abc import AsyncIterator
from io import BytesIO
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from yarl import URL

from rigs.ports import free_port
from settings import FrontLimits
from tests.deploy.front import api, cutting_api, front
from tests.deploy.streamed_upload import StreamedUpload
from tests.git.serving import git
from tests.waiting import HANGS

AWAY = {
    ("POST", "/api/v4/jobs/request"): "5",
    ("PATCH", "/api/v4/jobs/7/trace"): "5",
    ("PUT", "/api/v4/jobs/7"): "30",
    ("POST", "/api/v4/jobs/7/artifacts"): "10",
    ("GET", "/api/v4/jobs/7/artifacts"): "5",
    ("POST", "/api/v4/runners/verify"): "5",
    ("POST", "/group/project.git/git-upload-pack"): "5",
    ("GET", "/group/project"): "5",
    ("POST", "/api/v4/projects/group%2Fproject/pipeline"): "5",
}
CHANGES = [("PUT", "/api/v4/jobs/7"), ("POST", "/api/v4/jobs/request"), ("PATCH", "/api/v4/jobs/7/trace")]
CHANGES += [(method, "/api/v4/projects/1") for method in ("PUT", "POST", "PATCH", "DELETE")]


async def echo(request: web.Request) -> web.Response:
    """Answer with what arrived."""
    body = await request.read()
    seen = {
        "method": request.method,
        "path": request.raw_path,
        "headers": {name.lower(): value for name, value in request.headers.items()},
        "size": len(body),
    }
    return web.json_response(seen)


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    """A client that follows no redirect of its own accord and gives up after 15 s."""
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=HANGS)) as session:
        yield session


@pytest.mark.parametrize(("method", "path"), AWAY)
async def test_without_an_api_the_front_says_when_to_come_back(
    tmp_path: Path, client: aiohttp.ClientSession, method: str, path: str
) -> None:
    """A stock runner survives 503 and `Retry-After`, nothing else.

    Source: docs/reference/reliability.md, "What a stock runner survives".
    """
    async with front(tmp_path, f"127.0.0.1:{free_port()}") as address:
        body = None if method == "GET" else b"{}"
        async with client.request(method, address + path, data=body, headers={"X-Request-Id": "abc123"}) as response:
            assert (response.status, response.headers["Retry-After"]) == (503, AWAY[method, path])
            assert response.content_type == ("text/plain" if ".git/" in path else "application/json")
            said = await response.text() if ".git/" in path else (await response.json())["message"]
            assert "no Perdure API answers" in said
            assert response.headers["X-Request-Id"] == "abc123"


async def test_git_shows_why_it_gets_nothing(tmp_path: Path) -> None:
    async with front(tmp_path, f"127.0.0.1:{free_port()}") as address:
        said = await git("ls-remote", f"{address}/acme/shop.git", cwd=tmp_path, code=128)
    assert "remote: 503 Service Unavailable: no Perdure API answers, try again in " in said


async def test_an_api_that_comes_back_is_found_without_a_restart_of_the_front(
    tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    """First 503, then, some seconds after the API listens, its response."""
    port = free_port()
    async with front(tmp_path, f"127.0.0.1:{port}", f"127.0.0.1:{free_port()}") as address:
        async with client.get(f"{address}/x") as response:
            assert response.status == 503
        async with api(echo, port), asyncio.timeout(HANGS):
            while True:
                async with client.get(f"{address}/x") as response:
                    if response.status == 200:
                        break
                await asyncio.sleep(0.1)


async def test_the_front_starts_and_answers_when_the_api_has_no_name_yet(
    tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    """As in a container set whose API is not up: nobody answers the question for its name."""
    async with (
        front(tmp_path, "api:8930", resolver=f"127.0.0.1:{free_port()}") as address,
        client.put(f"{address}/api/v4/jobs/7", data=b"{}") as response,
    ):
        assert (response.status, response.headers["Retry-After"]) == (503, "30")


@pytest.mark.parametrize(("method", "path"), CHANGES)
async def test_a_change_is_never_sent_to_a_second_api(
    tmp_path: Path, client: aiohttp.ClientSession, method: str, path: str
) -> None:
    """The first API took the request and died: whether it did the change is not known, so the client decides."""
    requests: list[str] = []
    async with (
        cutting_api(requests) as first,
        cutting_api(requests) as second,
        front(tmp_path, first, second) as address,
    ):
        async with client.request(method, address + path, data=b'{"state": "success"}') as response:
            assert response.status == 503
        assert requests == [f"{method} {path} HTTP/1.1"]


async def test_reading_goes_on_at_the_second_api(tmp_path: Path, client: aiohttp.ClientSession) -> None:
    """Whichever of the two is asked first, the reader gets the response of the one that lives."""
    requests: list[str] = []
    async with cutting_api(requests) as first, api(echo) as second, front(tmp_path, first, second) as address:
        for _ in range(4):
            async with client.get(f"{address}/group/project") as response:
                assert response.status == 200
    assert requests, "the API that cuts its answers was never asked, so nothing was shown"


@pytest.mark.parametrize(("method", "path"), AWAY)
async def test_calls_arrive_as_they_were_made(
    tmp_path: Path, client: aiohttp.ClientSession, method: str, path: str
) -> None:
    """Method, path, query, host and tokens are those of the caller; no redirect, which would turn a PUT into a GET."""
    async with api(echo) as upstream, front(tmp_path, upstream) as address:
        body = None if method == "GET" else b"x" * 1000
        url = URL(f"{address}{path}?a=b%2Fc", encoded=True)
        headers = {"JOB-TOKEN": "glcbt-1", "X-Forwarded-For": "6.6.6.6"}
        async with client.request(method, url, data=body, headers=headers, allow_redirects=False) as response:
            assert response.status == 200
            seen = await response.json()
        assert (seen["method"], seen["path"], seen["size"]) == (method, f"{path}?a=b%2Fc", len(body or b""))
        assert seen["headers"]["job-token"] == "glcbt-1"
        assert seen["headers"]["x-forwarded-for"] == "127.0.0.1", "what the client says of itself is not believed"
        assert f"http://{seen['headers']['host']}" == address
        assert len(seen["headers"]["x-request-id"]) == 32


async def test_doubled_and_trailing_slashes_are_not_redirected(tmp_path: Path, client: aiohttp.ClientSession) -> None:
    """They reach the API, which says what they are."""
    async with api(echo) as upstream, front(tmp_path, upstream) as address:
        for path in ("/api/v4//jobs/request", "/api/v4/jobs/request/", "/api/v4/runners", "/api/v4/jobs"):
            async with client.post(address + path, data=b"{}", allow_redirects=False) as response:
                assert (response.status, (await response.json())["path"]) == (200, path)


async def test_an_upload_streams(tmp_path: Path, client: aiohttp.ClientSession) -> None:
    """The API has the first piece of an artifact before the runner sends the second."""
    upload = StreamedUpload()
    async with (
        api(upload.receive) as upstream,
        front(tmp_path, upstream) as address,
        client.post(f"{address}/api/v4/jobs/7/artifacts", data=upload.pieces()) as response,
    ):
        assert (response.status, await response.json()) == (201, {"size": upload.size})


async def test_a_body_too_large_for_its_place_is_refused_in_words(
    tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    """Only uploads and git may be large."""
    async with api(echo) as upstream, front(tmp_path, upstream) as address:
        for path in ("/api/v4/jobs/request", "/api/v4/jobs/7/trace", "/api/v4/projects"):
            headers = {"Content-Length": str(5 * 1024 * 1024), "Expect": "100-continue"}
            async with client.post(address + path, headers=headers) as response:
                assert (response.status, response.content_type) == (413, "application/json")
                said = (await response.json())["message"]
                assert f"larger than {'32 KiB' if path.endswith('request') else 'the 4 MiB'}" in said
                assert "The limit is " in said


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize(
    "path", ["/api/v4/projects/a%2Fb/repository/commits", "/api/v4/projects/7/repository/files/x%2Fy", "/api/hooks/9"]
)
async def test_what_the_settings_permit_passes_the_front(
    tmp_path: Path, client: aiohttp.ClientSession, path: str, chunked: bool
) -> None:
    """Commits of up to 64 MiB (`PERDURE_COMMIT_BYTES`) and hooks of 5 MiB (`PERDURE_HOOK_BYTES`)."""

    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(5):
            yield b"x" * 1024 * 1024

    async with api(echo) as upstream, front(tmp_path, upstream) as address:
        data = pieces() if chunked else BytesIO(b"x" * 5 * 1024 * 1024)
        async with client.post(address + path, data=data) as response:
            assert (response.status, (await response.json())["size"]) == (200, 5 * 1024 * 1024)
        headers = {"Content-Length": str(65 * 1024 * 1024), "Expect": "100-continue"}
        async with client.post(address + path, headers=headers) as response:
            assert (response.status, "64 MiB" in (await response.json())["message"]) == (413, True)


@pytest.mark.parametrize("length", [None, 22], ids=["chunked", "with its length"])
async def test_events_are_not_held_back(tmp_path: Path, client: aiohttp.ClientSession, length: int | None) -> None:
    """The reader has the first event before the API sends the second."""
    read = asyncio.Event()

    async def events(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        response.content_length = length
        await response.prepare(request)
        await response.write(b"data: one\n\n")
        await read.wait()
        await response.write(b"data: two\n\n")
        return response

    async with (
        api(events) as upstream,
        front(tmp_path, upstream) as address,
        client.get(f"{address}/group/project/pipelines/1/events") as answer,
    ):
        assert await answer.content.readuntil(b"\n\n") == b"data: one\n\n"
        read.set()
        assert await answer.content.read() == b"data: two\n\n"


async def test_the_front_tells_that_it_lives_without_asking_an_api(
    tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    """For health checks of the front itself."""
    async with (
        front(tmp_path, f"127.0.0.1:{free_port()}") as address,
        client.get(f"{address}/-/front") as response,
    ):
        assert (response.status, await response.text()) == (200, "front\n")


async def test_the_log_of_calls_has_no_query(tmp_path: Path, client: aiohttp.ClientSession) -> None:
    """People and jobs may show their tokens there."""
    async with (
        front(tmp_path, f"127.0.0.1:{free_port()}") as address,
        client.get(f"{address}/api/v4/projects?private_token=glpat-secret") as response,
    ):
        assert response.status == 503
    log = "".join(file.read_text() for file in _logs(tmp_path))
    assert "GET /api/v4/projects HTTP/1.1" in log
    assert "glpat-secret" not in log


def _logs(folder: Path) -> list[Path]:
    return list(folder.rglob("access.log"))


def test_the_template_gives_the_same_figures_as_the_front_of_the_embedded_mode() -> None:
    """Whichever front stands before the API, a runner is told the same."""
    limits = FrontLimits()
    assert int(AWAY["POST", "/api/v4/jobs/request"]) == int(AWAY["PATCH", "/api/v4/jobs/7/trace"]) == limits.retry_poll
    assert int(AWAY["PUT", "/api/v4/jobs/7"]) == limits.retry_put
    assert int(AWAY["POST", "/api/v4/jobs/7/artifacts"]) == limits.retry_upload
