"""Waiting for a server that may just be restarting."""

import asyncio
import socket

import pytest

from fleet.reachable import until_reachable
from tests.waiting import HANGS


class Pauses:
    """Counts them; something may happen in one."""

    def __init__(self) -> None:
        self.made = 0

    async def __call__(self, seconds: float) -> None:
        self.made += 1


async def test_it_ends_when_connections_are_taken() -> None:
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    pauses = Pauses()

    async def sleep(seconds: float) -> None:
        await pauses(seconds)
        if pauses.made == 3:
            listening.listen()

    with listening:
        await until_reachable(f"http://me:secret@127.0.0.1:{listening.getsockname()[1]}/a.git", 60, sleep)
    assert pauses.made == 3


async def test_it_ends_when_the_time_is_over() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        pauses = Pauses()
        await until_reachable(f"https://127.0.0.1:{silent.getsockname()[1]}/", 10, pauses)
    assert pauses.made == 20


@pytest.mark.parametrize("url", ["", "file:///tmp/a.git", "ssh://host/a.git", "http://", "http://[::1", "http://h:x/"])
async def test_what_is_no_url_of_http_is_not_waited_for(url: str) -> None:
    async with asyncio.timeout(HANGS):
        await until_reachable(url, 2 * HANGS, asyncio.sleep)
