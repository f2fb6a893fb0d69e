"""How long jobs waited for a runner, and what that lets one expect that waits now.

The estimate looks only at jobs that had waited as long as this one has: of ten jobs of which nine were taken at once,
the tenth tells what a job that was not taken at once may expect.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

WINDOW: Final = 3600.0
"""Seconds that count as lately."""
MIN_WAITS: Final = 5
"""Of fewer jobs nothing is concluded."""
USUAL, LONG = 50, 95
"""The percentiles that are told."""


@dataclass(frozen=True, slots=True)
class Waits:
    """What `jobs` that were taken lately had waited, in seconds: half of them at most `p50`, 19 of 20 at most `p95`."""

    jobs: int
    p50: float
    p95: float


def measured(waits: Sequence[float]) -> Waits | None:
    """The percentiles of these waits; None of none."""
    if not waits:
        return None
    found = sorted(waits)
    return Waits(len(found), percentile(found, USUAL), percentile(found, LONG))


def expected(rising: Sequence[float], waited: float) -> Waits | None:
    """How much longer a job that has `waited` so many seconds will wait, by those (in order) that waited longer.

    None when those are fewer than `MIN_WAITS`: then nobody knows.
    """
    first = bisect_right(rising, waited)
    jobs = len(rising) - first
    if jobs < MIN_WAITS:
        return None
    p50, p95 = (rising[first + _rank(jobs, percent)] - waited for percent in (USUAL, LONG))
    return Waits(jobs, p50, p95)


def percentile(rising: Sequence[float], percent: int) -> float:
    """The least of rising values that `percent` of 100 of them do not exceed (nearest rank)."""
    return rising[_rank(len(rising), percent)]


def _rank(number: int, percent: int) -> int:
    return max(0, -(-number * percent // 100) - 1)
