"""Waiting for a condition, with a deadline: the only kind of waiting in these tests."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from domain.errors import PerdureError

T = TypeVar("T")

_PAUSE = 0.05


def until(condition: Callable[[], T], seconds: float) -> T:
    """The first true value of `condition`; an error of ours counts as "not yet". Fails after `seconds`."""
    deadline = time.monotonic() + seconds
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
        time.sleep(_PAUSE)
    raise AssertionError(f"not true within {seconds} s; last seen: {last!r}")


async def eventually(look: Callable[[], Awaitable[T | None]], what: str, within: float = 20.0) -> T:
    """The first true value that `look` gives; TimeoutError naming `what` when `within` seconds are over."""
    deadline = time.monotonic() + within
    while not (found := await look()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"After {within:g} s still not: {what}. Last seen: {found!r}")
        await asyncio.sleep(_PAUSE)
    return found
