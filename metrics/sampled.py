"""Gauges that are read as a whole when somebody asks for them, such as figures from the database."""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from metrics.definition import Definition, Kind, Values

Reading: TypeAlias = Mapping[Definition, Values]
"""Values of gauges and counters; a metric without labels has those of the empty tuple."""
ReadNow: TypeAlias = Callable[[], Reading]


class Sampled(Collector):
    """A collector of what `read` says now; names without a value are told without samples."""

    def __init__(self, definitions: Iterable[Definition], read: ReadNow) -> None:
        """`read` may leave some out; it must be quick."""
        self._definitions = tuple(definitions)
        self._read = read

    def describe(self) -> Iterable[Metric]:
        """The names, without asking anybody."""
        return [_family(definition, {}) for definition in self._definitions]

    def collect(self) -> Iterable[Metric]:
        """What they are now."""
        found = self._read()
        return [_family(definition, found.get(definition, {})) for definition in self._definitions]


def _family(definition: Definition, values: Values) -> Metric:
    if definition.kind is Kind.GAUGE:
        return definition.samples(values)
    return definition.totals(values)
