"""What the router tells nginx of a call, on the connection that nginx keeps."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.pods.directory import Directory, Pod
from domain.pods.routing import Head, ToPod, decide
from pods.connection import HEADER_LIMIT
from pods.decisions import ROUTER, decided, telling_decisions
from pods.front import routing
from rigs.ports import LOCAL, free_port
from tests.domain.pods.test_routing import CLUSTER, HEADERS, of
from tests.pods.upstreams import front_settings
from tests.waiting import HANGS

SEVEN = {"PRIVATE-TOKEN": of(7)}


def question(method: str, path: str, headers: dict[str, str]) -> bytes:
    """As nginx asks."""
    told = {"X-Perdure-Method": method, "X-Perdure-Path": path, **headers}
    return "\r\n".join(["GET / HTTP/1.1", *(f"{name}: {value}" for name, value in told.items()), "", ""]).encode()


class Cluster:
    """A directory that changes, and a connection on which it is asked."""

    def __init__(self) -> None:
        self.directory = Directory(1, (Pod(0, "default", "10.0.0.5:1"), Pod(7, "seven", "10.0.0.7:1,10.0.0.8:1")))
        self.port = free_port()

    async def asked(self, *questions: bytes) -> bytes:
        """All that is answered until the connection is closed."""
        reader, writer = await asyncio.open_connection(LOCAL, self.port)
        async with asyncio.timeout(HANGS):
            for one in questions:
                writer.write(one)
                await writer.drain()
            writer.write_eof()
            found = await reader.read()
        writer.close()
        await writer.wait_closed()
        return found


@asynccontextmanager
async def telling() -> AsyncIterator[Cluster]:
    made = Cluster()
    async with telling_decisions(lambda: made.directory, made.port):
        yield made


def answers(found: bytes) -> list[str]:
    return [head.rpartition(b"X-Perdure-To: ")[2].decode() for head in found.split(b"\r\n\r\n") if head]


async def test_questions_are_answered_in_their_order_however_they_are_cut() -> None:
    asked = question("GET", "/api/v4/user", SEVEN) + question("POST", "/api/v4/jobs/request", {})
    asked += (
        question("GET", "/-/jwks", SEVEN) + question("GET", "/", {}) + question("GET", "/", {"PRIVATE-TOKEN": of(5)})
    )
    async with telling() as cluster:
        expected = ["7 10.0.0.7:1,10.0.0.8:1", ROUTER, ROUTER, "0 10.0.0.5:1", ROUTER]
        assert answers(await cluster.asked(asked)) == expected
        assert answers(await cluster.asked(*(asked[place : place + 1] for place in range(len(asked))))) == expected


async def test_the_directory_of_now_decides() -> None:
    async with telling() as cluster:
        asked = question("GET", "/acme/app", {})
        assert answers(await cluster.asked(asked)) == ["0 10.0.0.5:1"]
        cluster.directory = Directory(2, cluster.directory.pods, {"acme": 7})
        assert answers(await cluster.asked(asked)) == ["7 10.0.0.7:1,10.0.0.8:1"]


@pytest.mark.parametrize(
    "wrong",
    [
        b"nonsense\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nX-Perdure-Path: /\r\n\r\n",
        b"GET / HTTP/1.1\r\nCookie: " + b"x" * (HEADER_LIMIT + 1),
    ],
)
async def test_what_is_no_question_ends_its_connection_and_no_other(wrong: bytes) -> None:
    async with telling() as cluster:
        found = await cluster.asked(wrong)
        assert found.startswith(b"HTTP/1.1 400 ")
        assert found.count(b"HTTP/1.1") == 1
        assert answers(await cluster.asked(question("GET", "/", {}))) == ["0 10.0.0.5:1"]


async def test_the_front_that_comes_answers_at_the_port_of_the_one_that_leaves() -> None:
    directory = Directory(2, (Pod(9, "nine", "10.0.0.9:1"),))
    async with AsyncExitStack() as old:
        cluster = await old.enter_async_context(telling())
        async with telling_decisions(lambda: directory, cluster.port):
            await old.aclose()
            assert answers(await cluster.asked(question("GET", "/", {}))) == ["9 10.0.0.9:1"]


async def test_a_front_that_leaves_tells_nobody_any_more() -> None:
    """Not those either that are connected: another front has a newer directory."""
    settings = front_settings(decisions_port=free_port())
    port = settings.front.decisions_port
    async with routing(settings, Directory(1, (Pod(0, "default"),))) as running:
        reader, writer = await asyncio.open_connection(LOCAL, port)
        writer.write(question("GET", "/", {}))
        assert answers(await reader.readuntil(b"\r\n\r\n")) == ["0 "]
        await running.leave(HANGS)
        async with asyncio.timeout(HANGS):
            assert await reader.read() == b""
        writer.close()
        await writer.wait_closed()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(LOCAL, port)


@given(st.sampled_from(["GET", "POST", "DELETE"]), st.text(max_size=40).map(lambda text: "/" + text), HEADERS)
def test_what_is_told_is_what_the_router_decides(method: str, path: str, headers: dict[str, str]) -> None:
    told = decided({"x-perdure-method": method, "x-perdure-path": path, **headers}, CLUSTER)
    decision = decide(Head(method, path, headers), CLUSTER)
    assert told == (f"{decision.pod} " if isinstance(decision, ToPod) else ROUTER)
