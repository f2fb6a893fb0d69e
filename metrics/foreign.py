"""Metrics that a library of this process tells at an address of the loopback, to be told with our own."""

from collections.abc import Awaitable, Callable
from http import HTTPStatus

import aiohttp

LIMIT = 1.0
"""Seconds that it may take."""


def text_of(url: str) -> Callable[[], Awaitable[bytes]]:
    """A call that fetches the text; empty if nobody answers in time."""
    timeout = aiohttp.ClientTimeout(total=LIMIT)

    async def fetch() -> bytes:
        try:
            async with aiohttp.ClientSession(timeout=timeout) as session, session.get(url) as response:
                return await response.read() if response.status == HTTPStatus.OK else b""
        except (TimeoutError, aiohttp.ClientError, OSError):
            return b""

    return fetch
