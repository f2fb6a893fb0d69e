"""The front: what it forwards, what it says while the API is away, and what a cut looks like."""

import asyncio
import gzip
import json
from collections.abc import AsyncIterator

import aiohttp
import pytest
from aiohttp import web
from yarl import URL

from pods.front import serving
from pods.request_body import SMALL
from rigs.ports import free_port
from tests.pods.upstreams import front_settings, http_upstream, raw_upstream
from tests.waiting import HANGS, comes_true


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    """An HTTP client that changes nothing about bodies."""
    async with aiohttp.ClientSession(auto_decompress=False) as session:
        yield session


async def echo(request: web.BaseRequest) -> web.StreamResponse:
    """Answer with what arrived."""
    body = await request.read()
    seen = {
        "method": request.method,
        "target": request.raw_path,
        "headers": [[name, value] for name, value in request.headers.items()],
        "body": body.decode("latin-1"),
    }
    return web.json_response(seen, status=201, headers={"X-GitLab-Last-Update": "7", "Keep-Alive": "timeout=9"})


AWAY_CASES = [
    ("POST", "/api/v4/jobs/request", 5),
    ("PATCH", "/api/v4/jobs/4/trace", 5),
    ("PUT", "/api/v4/jobs/4", 30),
    ("POST", "/api/v4/jobs/4/artifacts", 10),
    ("GET", "/api/v4/projects", 5),
]


@pytest.mark.parametrize(("method", "path", "seconds"), AWAY_CASES)
async def test_api_away_is_503_with_retry_after(
    client: aiohttp.ClientSession, method: str, path: str, seconds: int
) -> None:
    settings = front_settings(hold=0)
    async with serving(settings), client.request(method, settings.url + path, data=b"x") as response:
        assert response.status == 503
        assert response.headers["Retry-After"] == str(seconds)
        assert str(seconds) in (await response.json())["message"]


@pytest.mark.parametrize("answer_head", [b"", b"HTTP/1.1 2", b"HTTP/1.1 200 OK\r\nContent-Le"])
async def test_cut_before_the_answer_is_there_is_503_and_not_repeated(
    client: aiohttp.ClientSession, answer_head: bytes
) -> None:
    settings = front_settings()
    async with serving(settings), raw_upstream(settings.api_port, answer_head) as seen:
        async with client.post(f"{settings.url}/api/v4/projects", json={"name": "x"}) as response:
            assert (response.status, response.headers["Retry-After"]) == (503, "5")
        assert len(seen) == 1


async def test_small_answer_cut_in_its_body_is_503(client: aiohttp.ClientSession) -> None:
    settings = front_settings()
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"
    async with (
        serving(settings),
        raw_upstream(settings.api_port, head),
        client.put(f"{settings.url}/api/v4/jobs/4", json={}) as response,
    ):
        assert response.status == 503


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n" + b"x" * 1000,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
    ],
)
async def test_cut_in_the_middle_is_never_a_short_200(client: aiohttp.ClientSession, head: bytes) -> None:
    settings = front_settings()
    async with serving(settings), raw_upstream(settings.api_port, head):
        with pytest.raises(aiohttp.ClientError):
            async with client.get(f"{settings.url}/api/v4/projects") as response:
                await response.read()


async def test_browser_gets_a_page_that_loads_itself_again(client: aiohttp.ClientSession) -> None:
    settings = front_settings()
    async with serving(settings), client.get(settings.url, headers={"Accept": "text/html,*/*"}) as response:
        assert (response.status, response.content_type) == (503, "text/html")
        assert '<meta http-equiv="refresh" content="5">' in await response.text()


async def test_request_arrives_unchanged_but_for_hop_by_hop_and_forwarded_headers(
    client: aiohttp.ClientSession,
) -> None:
    settings = front_settings()
    sent = {
        "Host": "ci.example.com",
        "X-Forwarded-For": "6.6.6.6",
        "X-Forwarded-Port": "1",
        "Forwarded": "for=6.6.6.6",
        "X-Real-IP": "6.6.6.6",
        "Connection": "X-Secret-Hop",
        "X-Secret-Hop": "1",
        "TE": "trailers",
        "JOB-TOKEN": "glcbt-1",
        "Content-Encoding": "gzip",
    }
    body = gzip.compress(b"hello")
    target = "/a%2Fb//c/../d?x=%20&y=a+b"
    async with serving(settings), http_upstream(settings.api_port, echo):
        url = URL(settings.url + target, encoded=True)
        async with client.post(url, data=body, headers=sent) as response:
            seen = await response.json()
            assert response.status == 201
            assert response.headers["X-GitLab-Last-Update"] == "7"
            assert "Keep-Alive" not in response.headers
    headers = {name.lower(): value for name, value in seen["headers"]}
    assert seen["target"] == target
    assert seen["body"].encode("latin-1") == body
    assert headers["host"] == headers["x-forwarded-host"] == "ci.example.com"
    assert headers["x-forwarded-for"] == "127.0.0.1"
    assert headers["x-forwarded-proto"] == "http"
    assert headers["job-token"] == "glcbt-1"
    assert not {"forwarded", "x-real-ip", "x-forwarded-port", "x-secret-hop", "te"} & set(headers)


async def test_redirects_encodings_and_cookies_pass_unchanged(client: aiohttp.ClientSession) -> None:
    packed = gzip.compress(b"x" * 1000)

    async def upstream(_: web.BaseRequest) -> web.StreamResponse:
        headers = [("Location", "http://elsewhere/"), ("Content-Encoding", "gzip"), ("Set-Cookie", "a=1")]
        return web.Response(status=302, body=packed, headers=[*headers, ("Set-Cookie", "b=2")])

    settings = front_settings()
    async with (
        serving(settings),
        http_upstream(settings.api_port, upstream),
        client.get(settings.url, allow_redirects=False) as response,
    ):
        assert (response.status, response.headers["Location"]) == (302, "http://elsewhere/")
        assert response.headers.getall("Set-Cookie") == ["a=1", "b=2"]
        assert await response.read() == packed


async def test_head_and_204_have_no_body(client: aiohttp.ClientSession) -> None:
    async def upstream(request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(body=b"x" * 100) if request.method == "HEAD" else web.Response(status=204)

    settings = front_settings()
    async with serving(settings), http_upstream(settings.api_port, upstream):
        async with client.head(settings.url) as response:
            assert (response.status, response.headers["Content-Length"], await response.read()) == (200, "100", b"")
        async with client.post(f"{settings.url}/api/v4/jobs/request", json={}) as response:
            assert (response.status, await response.read()) == (204, b"")
            assert "Transfer-Encoding" not in response.headers


@pytest.mark.parametrize("size", [5, SMALL + 1])
async def test_expect_100_continue(size: int) -> None:
    settings = front_settings()
    async with serving(settings), http_upstream(settings.api_port, echo):
        reader, writer = await asyncio.open_connection("127.0.0.1", settings.front_port)
        head = f"PUT /x HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: {size}\r\n\r\n"
        writer.write(head.encode())
        async with asyncio.timeout(HANGS):
            assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
            writer.write(b"x" * size)
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 201 ")
        writer.close()


async def test_other_informational_answers_are_not_the_answer(client: aiohttp.ClientSession) -> None:
    settings = front_settings()
    head = b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    async with serving(settings), raw_upstream(settings.api_port, head), client.get(settings.url) as response:
        assert (response.status, await response.read()) == (200, b"ok")


async def test_early_refusal_of_an_upload_reaches_the_client() -> None:
    async def upstream(_: web.BaseRequest) -> web.StreamResponse:
        return web.json_response({"message": "too large"}, status=413)

    settings = front_settings()
    async with serving(settings), http_upstream(settings.api_port, upstream):
        reader, writer = await asyncio.open_connection("127.0.0.1", settings.front_port)
        writer.write(
            b"POST /api/v4/jobs/1/artifacts HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n"
        )
        async with asyncio.timeout(HANGS):
            head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 413 ")
        assert b"connection: close" in head.lower()
        writer.close()


async def test_events_pass_one_by_one(client: aiohttp.ClientSession) -> None:
    step = asyncio.Event()

    async def upstream(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for number in range(3):
            await response.write(f"data: {number}\n\n".encode())
            await step.wait()
            step.clear()
        return response

    settings = front_settings()
    async with (
        serving(settings),
        http_upstream(settings.api_port, upstream),
        client.get(f"{settings.url}/events") as answer,
        asyncio.timeout(HANGS),
    ):
        for number in range(3):
            assert await answer.content.readuntil(b"\n\n") == f"data: {number}\n\n".encode()
            step.set()


async def test_client_gone_cancels_the_request_to_the_api(client: aiohttp.ClientSession) -> None:
    events: list[str] = []

    async def upstream(_: web.BaseRequest) -> web.StreamResponse:
        events.append("started")
        try:
            await asyncio.Event().wait()
        finally:
            events.append("ended")
        raise AssertionError

    settings = front_settings()
    async with serving(settings), http_upstream(settings.api_port, upstream):
        call = asyncio.create_task(client.post(f"{settings.url}/api/v4/jobs/request", json={}))
        await comes_true(lambda: events == ["started"])
        call.cancel()
        await comes_true(lambda: events == ["started", "ended"])


async def test_push_that_may_have_been_received_is_not_repeated(client: aiohttp.ClientSession) -> None:
    settings = front_settings(hold=5, probe_every=0.02)
    async with serving(settings), raw_upstream(settings.api_port, b"") as seen:
        async with client.post(f"{settings.url}/g/p.git/git-receive-pack", data=b"0000") as response:
            assert response.status == 503
        assert len(seen) == 1


async def test_stale_connection_is_replaced_for_a_safe_request(client: aiohttp.ClientSession) -> None:
    settings = front_settings()
    async with serving(settings), raw_upstream(settings.api_port, b"") as seen:
        async with client.get(f"{settings.url}/api/v4/projects") as response:
            assert response.status == 503
        assert len(seen) == 2


async def test_silent_api_is_503(client: aiohttp.ClientSession) -> None:
    async def upstream(_: web.BaseRequest) -> web.StreamResponse:
        await asyncio.Event().wait()
        raise AssertionError

    settings = front_settings(answer=0.2, hold=0)
    async with (
        serving(settings),
        http_upstream(settings.api_port, upstream),
        client.put(f"{settings.url}/api/v4/jobs/4", json={}) as response,
    ):
        assert response.status == 503


@pytest.mark.parametrize("framing", ["Content-Length: 100", "Transfer-Encoding: chunked"])
async def test_client_that_stops_sending_is_timed_out(framing: str) -> None:
    settings = front_settings(client_idle=0.2)
    async with serving(settings), http_upstream(settings.api_port, echo):
        reader, writer = await asyncio.open_connection("127.0.0.1", settings.front_port)
        writer.write(f"PUT /x HTTP/1.1\r\nHost: h\r\n{framing}\r\n\r\n".encode())
        async with asyncio.timeout(HANGS):
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 408 ")
        writer.close()


async def test_header_that_never_ends_is_closed() -> None:
    settings = front_settings(header=0.2)
    async with serving(settings):
        reader, writer = await asyncio.open_connection("127.0.0.1", settings.front_port)
        writer.write(b"GET / HTTP/1.1\r\nHost:")
        async with asyncio.timeout(HANGS):
            assert await reader.read() == b""
        writer.close()


async def test_own_health_and_way_to_the_api(client: aiohttp.ClientSession) -> None:
    async def upstream(request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(status=200 if request.path == "/-/health" else 500)

    settings = front_settings()
    async with serving(settings):
        for path, status in (("health", 200), ("api", 503)):
            async with client.get(f"{settings.url}/-/front/{path}") as response:
                assert response.status == status
        async with http_upstream(settings.api_port, upstream), client.get(f"{settings.url}/-/front/api") as response:
            assert (response.status, json.loads(await response.read())) == (200, {"message": "ok"})


async def test_two_fronts_cannot_share_a_port() -> None:
    settings = front_settings()
    async with serving(settings):
        with pytest.raises(OSError, match="address already in use"):
            async with serving(settings.model_copy(update={"api_port": free_port()})):
                raise AssertionError
