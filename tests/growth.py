"""How the cost of some work grows with its size, in processor time, so that other work beside it does not count."""

import ctypes
import gc
import math
import time
from collections.abc import Callable
from typing import Any, Final

MAX_GROWTH: Final = 2.8
"""Times the cost that twice the size may have: half way from what is linear to what is quadratic. Linear work that
leaves the caches, which neighbours share, has cost up to 2.6 times as much."""
_DOUBLINGS: Final = 3
_MAX_ATTEMPTS: Final = 4
_ROUNDS: Final = 6
"""So often it is measured anew before it counts as too dear: neighbours take caches, which costs processor time."""
_NOTHING: Final = 0.02
"""Seconds of the largest work that are too short to say anything, and short enough."""


_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Parameters of mallopt(3)."""
_MEMORY: Final = 300_000
_PIECE: Final = 400
_KEPT: Final = 500
"""So many pieces of so many bytes; one in so many is kept, which is some in each arena of the interpreter."""
_kept: list[bytes] = []


def hold_memory() -> None:
    """Let the process have so much memory that measured work needs no more, and give none back.

    A page that the kernel, or the host of a virtual machine, has to provide costs more than the work on it, and only
    larger work needs new ones: what is linear would look as if it were not.
    """
    libc = ctypes.CDLL(None)
    libc.mallopt(_TRIM_THRESHOLD, 1 << 30)
    libc.mallopt(_MMAP_THRESHOLD, 1 << 25)
    pieces = [bytes(_PIECE) for _ in range(_MEMORY)]
    _kept[:] = pieces[::_KEPT]


def cost(work: Callable[[], Any], attempts: int = _MAX_ATTEMPTS) -> float:
    """The least processor time of some runs, in seconds, without garbage collection, which looks at everything."""
    times = []
    is_collecting = gc.isenabled()
    gc.disable()
    try:
        for _ in range(attempts):
            begin = time.process_time()
            work()
            times.append(time.process_time() - begin)
    finally:
        if is_collecting:
            gc.enable()
    return min(times)


def assert_linear(made: Callable[[int], Callable[[], Any]], size: int) -> None:
    """Demand that work at 8 times the size costs at most what three doublings may; `made` prepares it for a size.

    What grows with the square of its size costs 64 times as much: no number of rounds lets that pass.
    """
    measured = []
    hold_memory()
    for _ in range(_ROUNDS):
        small, large = cost(made(size)), cost(made(size << _DOUBLINGS))
        if large <= max(small * math.pow(MAX_GROWTH, _DOUBLINGS), _NOTHING):
            return
        measured.append(f"{size}: {small:.4f} s, {size << _DOUBLINGS}: {large:.4f} s")
    raise AssertionError("; ".join(measured))
