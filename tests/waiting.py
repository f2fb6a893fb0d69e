"""Waiting for something that nothing announces: look again until it is there, or fail with a word on what was missing."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

Found = TypeVar("Found")

PAUSE = 0.05
"""Seconds between two looks."""


async def eventually(look: Callable[[], Awaitable[Found | None]], what: str, within: float = 20.0) -> Found:
    """The first thing that `look` gives which is true; TimeoutError naming `what` when `within` seconds are over."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + within
    while not (found := await look()):
        if loop.time() > deadline:
            raise TimeoutError(f"After {within:g} s still not: {what}.")
        await asyncio.sleep(PAUSE)
    return found
