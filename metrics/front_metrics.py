"""What the front counts of the requests that it passes on."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from prometheus_client import Counter, Gauge

from metrics import names
from metrics.process_metrics import ProcessMetrics


class Passage:
    """One request on its way through the front; `status` is that of its response, 499 if nobody waited for one."""

    def __init__(self) -> None:
        """It has no response yet."""
        self.status = "499"


@dataclass(frozen=True, slots=True)
class PodMetrics:
    """What is counted of one of several pods."""

    open: Gauge
    refused: Counter


class FrontMetrics(ProcessMetrics):
    """The metrics of one front. Kinds are those of the front's table of patience, so there are few."""

    def __init__(self) -> None:
        """Nothing has passed."""
        super().__init__("front")
        self._requests = names.FRONT_REQUESTS.counter(self.registry)
        self._duration = names.FRONT_DURATION.histogram(self.registry)
        self._open = names.FRONT_OPEN.gauge(self.registry)
        self._held = names.FRONT_HELD.gauge(self.registry)
        self._away = names.FRONT_AWAY.counter(self.registry)
        self._directory_away = names.FRONT_DIRECTORY_AWAY.gauge(self.registry)
        self._directory_version = names.FRONT_DIRECTORY_VERSION.gauge(self.registry)
        self._pod_open = names.FRONT_POD_OPEN.gauge(self.registry)
        self._pod_refused = names.FRONT_POD_REFUSED.counter(self.registry)

    def follow(self, is_away: Callable[[], bool], version: Callable[[], int]) -> None:
        """A directory is followed, which tells this of itself whenever somebody looks."""
        self._directory_away.set_function(is_away)
        self._directory_version.set_function(version)

    def of_pod(self, name: str) -> PodMetrics:
        """Those of one of several pods."""
        return PodMetrics(self._pod_open.labels(name), self._pod_refused.labels(name))

    @contextmanager
    def passing(self, kind: str) -> Iterator[Passage]:
        """A request is being answered."""
        passage, begun = Passage(), time.perf_counter()
        self._open.labels(kind).inc()
        try:
            yield passage
        finally:
            self._open.labels(kind).dec()
            self._requests.labels(kind, passage.status).inc()
            self._duration.labels(kind).observe(time.perf_counter() - begun)

    @contextmanager
    def holding(self, kind: str) -> Iterator[None]:
        """The API did not answer, and the request waits for it."""
        self._held.labels(kind).inc()
        try:
            yield
        finally:
            self._held.labels(kind).dec()

    def away(self, kind: str) -> None:
        """The API did not answer."""
        self._away.labels(kind).inc()
