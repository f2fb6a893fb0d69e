"""What the front holds while the API is away, what it does with it afterwards, and who has to give way."""

import asyncio
import time
from collections.abc import AsyncIterator
from functools import partial

import aiohttp
import pytest
from aiohttp import web

from pods.forwarding import Front
from pods.front import serving
from pods.request_body import SMALL
from tests.pods.upstreams import front_settings, http_upstream, raw_upstream
from tests.waiting import HANGS, comes_true

HELD = [
    ("PUT", "/api/v4/jobs/7"),
    ("PATCH", "/api/v4/jobs/7/trace"),
    ("POST", "/api/v4/jobs/7/artifacts?artifact_type=archive"),
    ("GET", "/api/v4/jobs/7/artifacts"),
    ("GET", "/group/project.git/info/refs?service=git-upload-pack"),
    ("POST", "/group/project.git/git-upload-pack"),
    ("POST", "/group/project.git/git-receive-pack"),
]
IMMEDIATE = [("POST", "/api/v4/jobs/request"), ("GET", "/api/v4/projects"), ("POST", "/api/v4/projects")]
AGAIN = ("PUT /api/v4/jobs/7", "PATCH /api/v4/jobs/7/trace", "POST /api/v4/jobs/7/artifacts")


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=60)) as session:
        yield session


async def echo(request: web.BaseRequest) -> web.StreamResponse:
    if request.path == "/-/health":
        return web.json_response({})
    return web.json_response({"body": (await request.read()).decode()}, status=201)


async def in_parts(text: str) -> AsyncIterator[bytes]:
    """A body of unknown length."""
    yield text.encode()


def holds(front: Front, count: int) -> bool:
    """Whether so many calls are held."""
    return len(front.holding) == count


async def is_held(calls: list[asyncio.Task[aiohttp.ClientResponse]], front: Front, count: int) -> None:
    """Return when the front holds so many calls."""
    await comes_true(lambda: holds(front, count))
    assert not any(call.done() for call in calls[-count:])


@pytest.mark.parametrize("small", [True, False], ids=["small", "in parts"])
@pytest.mark.parametrize(("method", "path"), HELD)
async def test_what_would_be_lost_is_held_until_the_api_is_back(
    client: aiohttp.ClientSession, method: str, path: str, small: bool
) -> None:
    settings = front_settings(probe_every=0.02)
    async with serving(settings) as running:
        body = None if method == "GET" else "0000" if small else in_parts("0000")
        call = asyncio.create_task(client.request(method, settings.url + path, data=body))
        await is_held([call], running.front, 1)
        async with http_upstream(settings.api_port, echo), asyncio.timeout(HANGS), await call as response:
            assert response.status == 201
            assert (await response.json())["body"] == ("" if method == "GET" else "0000")


@pytest.mark.parametrize(("method", "path"), IMMEDIATE)
async def test_polls_and_people_get_their_503_at_once(client: aiohttp.ClientSession, method: str, path: str) -> None:
    settings = front_settings()
    async with serving(settings), client.request(method, settings.url + path, data=b"{}") as response:
        assert (response.status, response.headers["Retry-After"]) == (503, "5")


async def test_held_request_gets_503_when_its_time_is_up(client: aiohttp.ClientSession) -> None:
    settings = front_settings(hold=0.3, probe_every=0.05)
    started = time.monotonic()
    async with serving(settings), client.put(f"{settings.url}/api/v4/jobs/7", json={}) as response:
        assert (response.status, response.headers["Retry-After"]) == (503, "30")
    assert time.monotonic() - started >= 0.3


async def test_the_body_of_a_held_call_is_not_read(client: aiohttp.ClientSession) -> None:
    """What a client sends meanwhile stays in the system's buffers, however much it is, until the API is back."""
    settings = front_settings(probe_every=0.02)
    async with serving(settings) as running:
        # The first one learns that the API is away.
        call = asyncio.create_task(client.put(f"{settings.url}/api/v4/jobs/7"))
        await is_held([call], running.front, 1)
        reader, writer = await asyncio.open_connection("127.0.0.1", settings.front_port)
        head = "POST /api/v4/jobs/7/artifacts HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n"
        writer.write(head.encode())
        await comes_true(lambda: len(running.front.holding) == 2)
        requests = [one._current_request for one in running.server.connections]
        (request,) = [one for one in requests if one is not None and one.content_length]
        writer.write(b"a" * 1_000_000)
        async with client.get(f"{settings.url}/api/v4/version") as response:
            assert response.status == 503, "the front had every occasion to read"
        assert request.content.total_bytes == 0
        async with http_upstream(settings.api_port, echo), asyncio.timeout(HANGS):
            assert (await reader.readuntil(b"\r\n")).startswith(b"HTTP/1.1 201 ")
            assert (await call).status == 201
        writer.close()


@pytest.mark.parametrize("call", AGAIN)
async def test_what_the_api_may_have_taken_before_it_died_is_sent_again(
    client: aiohttp.ClientSession, call: str
) -> None:
    """The same result, file and piece of log twice do no harm; some runners send them once and lose the job."""
    method, path = call.split()
    settings = front_settings(probe_every=0.02)
    async with serving(settings) as running:
        async with raw_upstream(settings.api_port, b"") as seen:
            sending = asyncio.create_task(client.request(method, settings.url + path, data="0000"))
            await is_held([sending], running.front, 1)
        assert next(head.split(b"\r\n")[0] for head in seen) == f"{call} HTTP/1.1".encode()
        async with http_upstream(settings.api_port, echo), asyncio.timeout(HANGS), await sending as response:
            assert (response.status, (await response.json())["body"]) == (201, "0000")


@pytest.mark.parametrize(("end", "status"), [("0-14", 202), ("0-12", 416), ("0-20", 416)])
async def test_a_piece_of_log_that_was_taken_before_the_api_died_was_taken(
    client: aiohttp.ClientSession, end: str, status: int
) -> None:
    async def refuse(request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(status=200 if request.path == "/-/health" else 416, headers={"Range": end})

    settings = front_settings(probe_every=0.02)
    path, headers = f"{settings.url}/api/v4/jobs/7/trace", {"Content-Range": "10-13"}
    async with serving(settings) as running:
        async with raw_upstream(settings.api_port, b""):
            sending = asyncio.create_task(client.patch(path, data="0000", headers=headers))
            await is_held([sending], running.front, 1)
        async with http_upstream(settings.api_port, refuse), asyncio.timeout(HANGS):
            async with await sending as response:
                assert (response.status, response.headers["Range"]) == (status, end)
            async with client.patch(path, data="0000", headers=headers) as response:
                assert response.status == 416, "sent once, it is the runner's to look"


async def test_an_api_that_says_503_is_asked_again(client: aiohttp.ClientSession) -> None:
    """Its database is away: it answers, and has done nothing."""
    responses = [503, 503, 200]

    async def recover(request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(status=200 if request.path == "/-/health" else responses.pop(0))

    settings = front_settings(probe_every=0.02)
    async with (
        serving(settings),
        http_upstream(settings.api_port, recover),
        client.put(f"{settings.url}/api/v4/jobs/7", json={}) as response,
    ):
        assert (response.status, responses) == (200, [])


async def test_an_upload_that_was_cut_is_the_runners_to_repeat(client: aiohttp.ClientSession) -> None:
    """What is larger than the front keeps in memory cannot be sent twice."""
    settings = front_settings(probe_every=0.02)
    async with serving(settings), raw_upstream(settings.api_port, b"") as seen:
        async with client.post(f"{settings.url}/api/v4/jobs/7/artifacts", data=b"a" * (SMALL + 1)) as response:
            assert (response.status, response.headers["Retry-After"]) == (503, "10")
        assert len(seen) == 1


async def test_a_client_that_goes_away_leaves_its_place(client: aiohttp.ClientSession) -> None:
    settings = front_settings()
    async with serving(settings) as running:
        call = asyncio.create_task(client.put(f"{settings.url}/api/v4/jobs/7", json={}))
        await is_held([call], running.front, 1)
        call.cancel()
        await comes_true(lambda: len(running.front.holding) == 0)


BY_WORTH = [
    ("POST", "/group/project.git/git-upload-pack"),
    ("GET", "/api/v4/jobs/7/artifacts"),
    ("PATCH", "/api/v4/jobs/7/trace"),
    ("POST", "/api/v4/jobs/7/artifacts"),
    ("PUT", "/api/v4/jobs/7"),
]


async def test_who_gives_way_when_every_place_is_taken(client: aiohttp.ClientSession) -> None:
    """The oldest of the least worth, for what is worth as much or more; what is worth less gets its 503 at once."""
    settings = front_settings(held=2, probe_every=0.02)
    calls: list[asyncio.Task[aiohttp.ClientResponse]] = []

    async with serving(settings) as running:

        async def come(call: tuple[str, str]) -> None:
            body = None if call[0] == "GET" else "0000"
            calls.append(asyncio.create_task(client.request(call[0], settings.url + call[1], data=body)))

        for number, call in enumerate(BY_WORTH):
            await come(call)
            if number < 2:
                await comes_true(partial(holds, running.front, number + 1))
            else:
                assert (await calls[number - 2]).status == 503
        await come(BY_WORTH[0])
        assert (await calls[-1]).status == 503
        await come(BY_WORTH[-1])
        assert (await calls[3]).status == 503, "the upload gave way to a second result"
        await come(BY_WORTH[-1])
        assert (await calls[4]).status == 503, "the older of two results gave way"
        assert len(running.front.holding) == 2
        async with http_upstream(settings.api_port, echo), asyncio.timeout(HANGS):
            assert [(await call).status for call in calls[-2:]] == [201, 201]


async def test_what_is_worth_more_keeps_its_place_although_it_is_older(client: aiohttp.ClientSession) -> None:
    settings = front_settings(held=2, probe_every=0.02)
    async with serving(settings) as running:
        calls = []
        for method, path in (BY_WORTH[-1], BY_WORTH[0], BY_WORTH[2]):
            calls.append(asyncio.create_task(client.request(method, settings.url + path, data="0000")))
            await comes_true(partial(holds, running.front, min(len(calls), 2)))
        assert (await calls[1]).status == 503
        async with http_upstream(settings.api_port, echo), asyncio.timeout(HANGS):
            assert [(await calls[number]).status for number in (0, 2)] == [201, 201]


async def test_memory_is_bounded_as_well(client: aiohttp.ClientSession) -> None:
    settings = front_settings(held_memory=250_000, probe_every=0.02)
    async with serving(settings) as running:
        calls = []
        for number in range(3):
            body = in_parts("a" * 100_000)
            calls.append(asyncio.create_task(client.post(f"{settings.url}/api/v4/jobs/{number}/artifacts", data=body)))
            await comes_true(partial(holds, running.front, min(number + 1, 2)))
        assert (await calls[0]).status == 503, "the oldest of three that do not fit together"
        calls.append(asyncio.create_task(client.put(f"{settings.url}/api/v4/jobs/7")))
        await is_held(calls, running.front, 3)
        async with http_upstream(settings.api_port, echo), asyncio.timeout(HANGS):
            assert [(await call).status for call in calls[1:]] == [201] * 3


@pytest.mark.parametrize(("behind", "first"), [("", 0), ("127.0.0.0/8", 1)])
async def test_who_holds_the_most_gives_way_by_the_address_that_a_proxy_of_ours_tells(
    client: aiohttp.ClientSession, behind: str, first: int
) -> None:
    settings = front_settings(held=3)
    limits = settings.front.model_copy(update={"behind": behind})
    async with serving(settings.model_copy(update={"front": limits})) as running:
        calls = []
        for address in ("203.0.113.1", "203.0.113.66", "203.0.113.66", "203.0.113.2"):
            headers = {"X-Forwarded-For": address}
            calls.append(asyncio.create_task(client.put(f"{settings.url}/api/v4/jobs/7", headers=headers)))
            await comes_true(partial(holds, running.front, min(len(calls), 3)))
        assert (await calls[first]).status == 503
        assert [call.done() for call in calls] == [number == first for number in range(4)]


async def test_what_is_worth_most_goes_on_first(client: aiohttp.ClientSession) -> None:
    order: list[str] = []

    async def note(request: web.BaseRequest) -> web.StreamResponse:
        if request.path != "/-/health":
            order.append(request.method)
        return web.Response()

    settings = front_settings(probe_every=0.02)
    async with serving(settings) as running:
        calls = [
            asyncio.create_task(client.request(method, settings.url + path))
            for method, path in [("GET", "/g/p.git/info/refs"), ("PATCH", "/api/v4/jobs/7/trace"), BY_WORTH[-1]]
        ]
        await is_held(calls, running.front, 3)
        async with http_upstream(settings.api_port, note), asyncio.timeout(HANGS):
            await asyncio.gather(*calls)
    assert order == ["PUT", "PATCH", "GET"]


async def test_one_probe_asks_for_all(client: aiohttp.ClientSession) -> None:
    """A thousand held calls do not meet an API that comes back with thousands of questions."""
    asked = 0

    async def starting(request: web.BaseRequest) -> web.StreamResponse:
        nonlocal asked
        if request.path != "/-/health":
            return web.Response(status=201)
        asked += 1
        return web.Response(status=200 if asked > 3 else 503)

    settings = front_settings(probe_every=0.05)
    async with serving(settings) as running:
        calls = [asyncio.create_task(client.put(f"{settings.url}/api/v4/jobs/{number}")) for number in range(90)]
        await is_held(calls, running.front, 90)
        async with http_upstream(settings.api_port, starting), asyncio.timeout(HANGS):
            assert {response.status for response in await asyncio.gather(*calls)} == {201}
    assert asked == 4


async def test_a_front_that_is_stopped_answers_what_it_holds(client: aiohttp.ClientSession) -> None:
    settings = front_settings()
    async with serving(settings) as running:
        call = asyncio.create_task(client.put(f"{settings.url}/api/v4/jobs/7", json={}))
        await is_held([call], running.front, 1)
    async with asyncio.timeout(HANGS), await call as response:
        assert response.status == 503


async def test_of_several_apis_the_next_is_asked_if_one_is_away(client: aiohttp.ClientSession) -> None:
    settings = front_settings()
    port = settings.api_port
    both = settings.front.model_copy(update={"apis": f"127.0.0.1:{port}, 127.0.0.1:{front_settings().api_port}"})
    async with serving(settings.model_copy(update={"front": both, "api_port": 1})), http_upstream(port, echo):
        for _ in range(4):
            async with client.get(f"{settings.url}/api/v4/projects") as response:
                assert response.status == 201


@pytest.mark.parametrize(("behind", "found"), [("", "127.0.0.1"), ("10.0.0.1,127.0.0.0/8", "203.0.113.9")])
@pytest.mark.parametrize("said", [("198.51.100.1, 203.0.113.9",), ("198.51.100.1", "203.0.113.9")], ids=["one", "two"])
async def test_only_a_proxy_that_is_named_says_who_its_client_is(
    client: aiohttp.ClientSession, behind: str, found: str, said: tuple[str, ...]
) -> None:
    async def tell(request: web.BaseRequest) -> web.StreamResponse:
        return web.json_response(dict(request.headers))

    settings = front_settings()
    limits = settings.front.model_copy(update={"behind": behind})
    headers = [
        *(("X-Forwarded-For", line) for line in said),
        ("X-Forwarded-Proto", "gopher"),
        ("X-Forwarded-Proto", "https"),
    ]
    async with (
        serving(settings.model_copy(update={"front": limits})),
        http_upstream(settings.api_port, tell),
        client.get(settings.url, headers=headers) as response,
    ):
        seen = await response.json()
    assert seen["X-Forwarded-For"] == found
    assert seen["X-Forwarded-Proto"] == ("https" if behind else "http")
