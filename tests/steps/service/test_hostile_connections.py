"""Whoever comes to the socket with anything but calls, too often, or without taking what comes back."""

import asyncio
import contextlib
import random
import socket
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from steps.grpc_library import grpc
from steps.proto import step_runner_pb2 as messages
from steps.proto.step_runner_pb2_grpc import StepRunnerStub
from tests.steps.service.serving import Served, script, served
from tests.steps.service.test_calls import all_of
from tests.waiting import eventually

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
SETTINGS = b"\0\0\0\4\0\0\0\0\0"
GARBAGE = {
    "nothing": b"",
    "zeros": b"\0" * 100_000,
    "noise": random.Random(1).randbytes(1_000_000),
    "HTTP/1": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 500,
    "SSH": b"SSH-2.0-OpenSSH_9.2\r\n" * 1_000,
    "half a preface": PREFACE[:10],
    "a preface": PREFACE,
    "a frame of 16 MiB": PREFACE + b"\xff\xff\xff\0\0\0\0\0\1",
    "data of no stream": PREFACE + SETTINGS + b"\0\0\4\0\0\0\0\0\7\0\0\0\0",
    "headers without an end": PREFACE + SETTINGS + b"\0\0\1\1\0\0\0\0\1\x82" + b"\0\x40\0\x09\0\0\0\0\1" * 200,
    "settings without an end": PREFACE + SETTINGS * 20_000,
    "pings": PREFACE + SETTINGS + b"\0\0\x08\6\0\0\0\0\0abcdefgh" * 20_000,
    "resets": PREFACE + SETTINGS + b"".join(
        b"\0\0\1\1\4" + number.to_bytes(4, "big") + b"\x82\0\0\4\3\0" + number.to_bytes(4, "big")[1:] + b"\0\0\0\x08"
        for number in range(1, 20_001, 2)
    ),
}  # fmt: skip


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path) as found:
        yield found


async def answers(service: Served) -> bool:
    """Whether somebody else is served."""
    async with service.client() as client:
        call = client.List(messages.ListRequest(), timeout=10)
        code = await call.code()
        assert code in {grpc.StatusCode.OK, grpc.StatusCode.UNAVAILABLE}, code
        return code is grpc.StatusCode.OK


def memory(service: Served) -> int:
    """MiB of the service."""
    assert service.process is not None
    return int(psutil.Process(service.process.pid).memory_info().rss / 1024**2)


@contextlib.contextmanager
def connections(service: Served, count: int) -> Iterator[list[socket.socket]]:
    """So many that say nothing."""
    with contextlib.ExitStack() as stack:
        found = []
        for _ in range(count):
            one = stack.enter_context(socket.socket(socket.AF_UNIX))
            one.connect(str(service.path))  # it waits where the queue of the socket is full
            one.settimeout(30)
            found.append(one)
        yield found


async def test_what_is_no_call_starts_nothing_and_lets_nobody_wait(service: Served) -> None:
    before = memory(service)
    for what, data in GARBAGE.items():
        for ends in (True, False):
            with connections(service, 1) as (one,):
                await asyncio.to_thread(send, one, data, ends=ends)
                assert await answers(service), what
    assert service.process is not None
    assert psutil.Process(service.process.pid).children() == []
    assert list(service.root.iterdir()) == []
    assert memory(service) - before < 100


def send(connection: socket.socket, data: bytes, *, ends: bool) -> None:
    with contextlib.suppress(OSError):
        connection.sendall(data)
        if ends:
            connection.shutdown(socket.SHUT_WR)


async def test_more_connections_than_descriptors(tmp_path: Path) -> None:
    """Those that are too many are closed at once; once others have gone new ones are taken."""
    async with served(tmp_path, descriptors=200) as service:
        assert await answers(service)
        for _ in range(3):
            with connections(service, 400) as found:
                heard = await asyncio.to_thread(lambda: sum(is_heard(one) for one in found))
                assert 1 <= heard <= (200 - 128) / 3
            await eventually(lambda: answers(service), "others are served again")
        async with service.client() as client:
            await client.Run(script("r", "echo x", service.work))
        assert await service.output("r") == (b"x\n", b"")


def is_heard(connection: socket.socket) -> bool:
    """Whether the other side says something, as gRPC does first."""
    try:
        return connection.recv(1) != b""
    except ConnectionError:
        return False


def is_closed(connection: socket.socket) -> bool:
    """Whether the other side ends it."""
    while is_heard(connection):
        pass
    return True


@pytest.mark.slow  # whoever says nothing has ten seconds to begin
async def test_a_thousand_connections_that_say_nothing(service: Served) -> None:
    with connections(service, 900) as found:
        assert await answers(service), "others are served meanwhile"
        closed = await asyncio.to_thread(lambda: [is_closed(one) for one in found])
        assert all(closed), "and nobody keeps a place without a word"
    assert await answers(service)


async def test_followers_that_take_nothing(service: Served) -> None:
    """They cost a part of the log each, which does not grow, and others get all of it as quickly as before."""
    size = 100 * 1024 * 1024
    async with service.client() as client, service.channel() as other, asyncio.timeout(120):
        await client.Run(script("r", f"head -c {size} /dev/zero", service.work))
        assert sum(len(one.stream) for one in await all_of(client.FollowIO(messages.FollowIORequest(id="r")))) == size
        before = memory(service)
        stalled = [follow(other) for _ in range(100)]
        for call in stalled:
            await call.read()
        assert sum(len(one.stream) for one in await all_of(client.FollowIO(messages.FollowIORequest(id="r")))) == size
        grown = memory(service) - before
        for call in stalled:
            call.cancel()
    assert grown < 200, f"{grown} MiB for a hundred followers"


def follow(channel: grpc.aio.Channel) -> Any:
    """A call that is read by whoever wants to."""
    return StepRunnerStub(channel).FollowIO(messages.FollowIORequest(id="r"))
