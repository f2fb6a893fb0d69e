"""Which tests are for the night."""

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.amounts import mark_nightly_as_slow
from tests.kinds_of_database import KINDS, mark_the_others


@dataclass
class Item:
    """As much of a collected test as is looked at."""

    nodeid: str
    params: dict[str, str]
    markers: set[str] = field(default_factory=set)

    @property
    def callspec(self) -> SimpleNamespace:
        """What it runs with."""
        return SimpleNamespace(params=self.params)

    def get_closest_marker(self, name: str) -> str | None:
        """The name of a marker that it has."""
        return name if name in self.markers else None

    def add_marker(self, marker: pytest.MarkDecorator) -> None:
        """One more."""
        self.markers.add(marker.name)


def marked(path: str, parameter: str = "database_url", *markers: str) -> dict[str, set[str]]:
    """Markers of a test by its kind of database."""
    items = [Item(f"{path}[{kind}]", {parameter: kind}, set(markers)) for kind in KINDS]
    mark_the_others(cast("Any", items))
    mark_nightly_as_slow(cast("Any", items))
    return {item.params[parameter]: item.markers for item in items}


@pytest.mark.parametrize(
    ("path", "parameter", "markers"),
    [
        ("tests/api/v4/test_x.py::test_it", "database_url", ()),
        ("tests/application/moves/test_x.py::test_it", "world", ("slow",)),
        ("tests/pods/directory/test_x.py::test_it", "directory_url", ("slow",)),
    ],
)
def test_one_kind_of_database_is_for_the_night_and_the_other_for_each_push(
    path: str, parameter: str, markers: tuple[str, ...]
) -> None:
    for number in range(20):
        found = sorted(marked(f"{path}_{number}", parameter, *markers).values(), key=len)
        assert found == [set(markers), {*markers, "nightly", "slow"}]


@pytest.mark.parametrize(
    ("path", "parameter", "markers"),
    [
        ("tests/models/test_x.py::test_it", "database_url", ()),
        ("tests/api/v4/test_x.py::test_it", "database_url", ("both_databases",)),
        ("tests/pods/directory/test_x.py::test_it", "directory_url", ()),
    ],
)
def test_sql_is_tested_on_both_with_each_push(path: str, parameter: str, markers: tuple[str, ...]) -> None:
    for number in range(20):
        assert list(marked(f"{path}_{number}", parameter, *markers).values()) == [set(markers)] * 2
