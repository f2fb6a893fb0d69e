"""What a process tells Prometheus, as a parser that nobody here wrote reads it."""

from collections.abc import Mapping
from typing import Final

import httpx
from prometheus_client.parser import text_string_to_metric_families

from metrics.definition import Definition, Kind
from tests.waiting import HANGS

_TYPE: Final = {"text/plain; version=0.0.4; charset=utf-8"}


class Scrape:
    """One response of `/metrics`."""

    def __init__(self, text: str) -> None:
        """Parse it."""
        self.text = text
        self.families = {family.name: family for family in text_string_to_metric_families(text)}

    def has(self, definition: Definition) -> bool:
        """Whether the name is there with the right type."""
        family = self.families.get(definition.name.removesuffix("_total"))
        return family is not None and family.type == definition.kind

    def total(self, definition: Definition, **labels: str) -> float:
        """The sum of its samples with these labels; of a histogram how often it was observed."""
        family = self.families[definition.name.removesuffix("_total")]
        ending = {Kind.HISTOGRAM: "_count", Kind.COUNTER: "_total"}.get(definition.kind, "")
        samples = [one for one in family.samples if one.name == family.name + ending]
        return sum(one.value for one in samples if labels.items() <= one.labels.items())

    def labels(self, definition: Definition) -> list[Mapping[str, str]]:
        """The labels of all its samples."""
        return [sample.labels for sample in self.families[definition.name.removesuffix("_total")].samples]


def scrape(port: int) -> Scrape:
    """Read a process on this machine."""
    response = httpx.get(f"http://127.0.0.1:{port}/metrics", timeout=HANGS, trust_env=False)
    assert response.status_code == 200
    assert response.headers["content-type"] in _TYPE
    return Scrape(response.text)
