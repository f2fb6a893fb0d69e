"""What a metric is before any process counts it: name, kind, labels, buckets, and what it says."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily

Values: TypeAlias = Mapping[tuple[str, ...], float]
"""Samples by the values of its labels."""


class Kind(StrEnum):
    """The types of Prometheus that are used here."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class By(StrEnum):
    """Which processes tell a metric; one with the role `all` is both API and worker."""

    API = "API"
    WORKER = "worker"
    SERVER = "API, worker"
    FRONT = "front"
    DIRECTORY = "directory"
    EVERY = "API, worker, front, directory"


@dataclass(frozen=True, slots=True)
class Definition:
    """A metric by the name that Prometheus sees, with the `_total` of a counter. Seconds and bytes are its units."""

    name: str
    kind: Kind
    by: By
    text: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()

    def counter(self, registry: CollectorRegistry) -> Counter:
        """It as a counter of a process."""
        assert self.kind is Kind.COUNTER
        return Counter(self.name.removesuffix("_total"), self.text, self.labels, registry=registry)

    def gauge(self, registry: CollectorRegistry) -> Gauge:
        """It as a gauge that whoever knows sets."""
        assert self.kind is Kind.GAUGE
        return Gauge(self.name, self.text, self.labels, registry=registry)

    def histogram(self, registry: CollectorRegistry) -> Histogram:
        """It as a histogram."""
        assert self.kind is Kind.HISTOGRAM
        return Histogram(self.name, self.text, self.labels, registry=registry, buckets=self.buckets)

    def totals(self, values: Values) -> CounterMetricFamily:
        """It as a counter that somebody else keeps."""
        family = CounterMetricFamily(self.name, self.text, labels=self.labels)
        for labels, value in values.items():
            family.add_metric(labels, value)
        return family

    def samples(self, values: Values) -> GaugeMetricFamily:
        """It as a gauge that is read as a whole."""
        family = GaugeMetricFamily(self.name, self.text, labels=self.labels)
        for labels, value in values.items():
            family.add_metric(labels, value)
        return family


def counter(name: str, by: By, text: str, *labels: str) -> Definition:
    """A counter."""
    return Definition(name, Kind.COUNTER, by, text, labels)


def gauge(name: str, by: By, text: str, *labels: str) -> Definition:
    """A gauge."""
    return Definition(name, Kind.GAUGE, by, text, labels)


def histogram(name: str, by: By, text: str, *labels: str, buckets: Iterable[float]) -> Definition:
    """A histogram; the bucket of everything is added."""
    return Definition(name, Kind.HISTOGRAM, by, text, labels, tuple(buckets))
