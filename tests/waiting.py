"""Waiting for a condition, with a deadline: the only kind of waiting in these tests."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from domain.errors import PerdureError

T = TypeVar("T")

_FIRST_PAUSE = 0.002
_MAX_PAUSE = 0.05
_SHARE = 0.02
"""Seconds between two looks, and the share of the time that was waited: what comes at once is seen at once, what takes
long is not asked for all the time."""


def until(condition: Callable[[], T | None], seconds: float) -> T:
    """The first true value of `condition`; an error of ours counts as "not yet". Fails after `seconds`."""
    begun, pause = time.monotonic(), _FIRST_PAUSE
    deadline = begun + seconds
    last: object = None
    while time.monotonic() < deadline:
        try:
            value = condition()
        except PerdureError as error:
            last = error
        else:
            if value:
                return value
            last = value
        time.sleep(pause)
        pause = _longer(pause, begun)
    raise AssertionError(f"not true within {seconds} s; last seen: {last!r}")


async def eventually(look: Callable[[], Awaitable[T | None]], what: str, within: float = 20.0) -> T:
    """The first true value that `look` gives; TimeoutError naming `what` when `within` seconds are over."""
    begun, pause = time.monotonic(), _FIRST_PAUSE
    deadline = begun + within
    while not (found := await look()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"After {within:g} s still not: {what}. Last seen: {found!r}")
        await asyncio.sleep(pause)
        pause = _longer(pause, begun)
    return found


def _longer(pause: float, begun: float) -> float:
    return min(pause * 2, max(_MAX_PAUSE, _SHARE * (time.monotonic() - begun)))
