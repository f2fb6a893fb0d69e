"""Waiting for a condition, with a deadline: the only kind of waiting in these tests."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from domain.errors import PerdureError

T = TypeVar("T")

_FIRST_PAUSE = 0.002
_MAX_PAUSE = 0.05
_SHARE = 0.02
"""Seconds between two looks, and the share of the time that was waited: what comes at once is seen at once, what takes
long is not asked for all the time."""

HANGS: Final = 60.0
"""Seconds after which a test calls what it awaits hung, however busy the machine is: it says nothing of speed."""
_PATIENT: Final = 20.0
_BUSY: Final = 3
"""From so many seconds on, a deadline is there to end what hangs, not to say how fast something is: it may be so many
times longer, since a machine that does other things is that much slower, and who need not wait loses nothing."""


def until(condition: Callable[[], T | None], seconds: float) -> T:
    """The first true value of `condition`; an error of ours counts as "not yet". Fails after `seconds`."""
    begun, pause, seconds = time.monotonic(), _FIRST_PAUSE, _on_a_busy_machine(seconds)
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
    begun, pause, within = time.monotonic(), _FIRST_PAUSE, _on_a_busy_machine(within)
    deadline = begun + within
    while not (found := await look()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"After {within:g} s still not: {what}. Last seen: {found!r}")
        await asyncio.sleep(pause)
        pause = _longer(pause, begun)
    return found


async def comes_true(condition: Callable[[], object], what: str = "it is so", within: float = HANGS) -> None:
    """Return when what this process can see holds; TimeoutError naming `what` when `within` seconds are over."""

    async def look() -> bool:
        return bool(condition())

    await eventually(look, what, within)


def _on_a_busy_machine(seconds: float) -> float:
    return seconds * _BUSY if seconds >= _PATIENT else seconds


def _longer(pause: float, begun: float) -> float:
    return min(pause * 2, max(_MAX_PAUSE, _SHARE * (time.monotonic() - begun)))
