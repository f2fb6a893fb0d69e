"""How the cost of some work grows with its size, in processor time, so that other work beside it does not count."""

import math
import time
from collections.abc import Callable
from typing import Any, Final

MOST: Final = 2.3
"""Times the cost that twice the size may have."""
_DOUBLINGS: Final = 3
_TRIES: Final = 4
_NOTHING: Final = 0.02
"""Seconds of the largest work that are too short to say anything, and short enough."""


def cost(work: Callable[[], Any]) -> float:
    """The least processor time of some runs, in seconds."""
    times = []
    for _ in range(_TRIES):
        begin = time.process_time()
        work()
        times.append(time.process_time() - begin)
    return min(times)


def assert_linear(made: Callable[[int], Callable[[], Any]], size: int) -> None:
    """Demand that work at 8 times the size costs at most what three doublings may; `made` prepares it for a size."""
    small, large = cost(made(size)), cost(made(size << _DOUBLINGS))
    allowed = small * math.pow(MOST, _DOUBLINGS)
    assert large <= max(allowed, _NOTHING), f"{size}: {small:.4f} s, {size << _DOUBLINGS}: {large:.4f} s"
