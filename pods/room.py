"""How many requests of one pod are at work at once: one that hangs shall not take what the others need."""

import math
import resource
from collections.abc import Iterator
from contextlib import contextmanager

from metrics.front_metrics import PodMetrics


class Full(Exception):
    """As many requests of the pod are at work as may be."""


class Room:
    """Places for the requests of one pod; without a limit it only lets them in."""

    def __init__(self, most: float = math.inf, metrics: PodMetrics | None = None) -> None:
        """Nothing is at work yet; `most` may change later."""
        self.most, self._metrics = most, metrics
        self._at_work = 0

    @contextmanager
    def place(self) -> Iterator[None]:
        """A request is at work; raises `Full`."""
        if self._at_work >= self.most:
            if self._metrics is not None:
                self._metrics.refused.inc()
            raise Full
        self._count(1)
        try:
            yield
        finally:
            self._count(-1)

    def _count(self, more: int) -> None:
        self._at_work += more
        if self._metrics is not None:
            self._metrics.open.set(self._at_work)


def most_of(wanted: int, pods: int) -> int:
    """How many requests of one of several pods may be at work: each takes two of the files that we may open."""
    return min(wanted, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2 // pods)
