"""Waits for a server that may just be restarting."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final
from urllib.parse import urlsplit

_PORTS: Final = {"http": 80, "https": 443}
_PAUSE: Final = 0.5
"""Seconds between two looks."""
_CONNECTING: Final = 5.0
"""Seconds that a connection may take."""


async def until_reachable(url: str, seconds: float, sleep: Callable[[float], Awaitable[None]]) -> None:
    """Return when the host of `url` takes connections at its port, or when `seconds` of pauses are over.

    At once for what is no URL of HTTP: only a connection says whether somebody is there.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return
    if host is None or port is None or parts.scheme not in _PORTS:
        return
    for _ in range(int(seconds / _PAUSE)):
        if await _accepts(host, port):
            return
        await sleep(_PAUSE)


async def _accepts(host: str, port: int) -> bool:
    try:
        async with asyncio.timeout(_CONNECTING):
            _, writer = await asyncio.open_connection(host, port)
    except OSError:  # also TimeoutError
        return False
    writer.close()
    return True
