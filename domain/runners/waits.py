"""How long jobs waited for a runner, and what that lets one expect that waits now.

The estimate looks only at jobs that had waited as long as this one has: of ten jobs of which nine were taken at once,
the tenth tells what a job that was not taken at once may expect.
"""

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


def expected(waits: Sequence[float], waited: float) -> Waits | None:
    """How much longer a job that has `waited` so many seconds will wait, by those that waited longer than that.

    None when those are fewer than `MIN_WAITS`: then nobody knows.
    """
    longer = [wait - waited for wait in waits if wait > waited]
    return measured(longer) if len(longer) >= MIN_WAITS else None


def percentile(rising: Sequence[float], percent: int) -> float:
    """The least of rising values that `percent` of 100 of them do not exceed (nearest rank)."""
    return rising[max(0, -(-len(rising) * percent // 100) - 1)]
