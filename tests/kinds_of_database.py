"""Which tests of doors run on which kind of database: the quick suite takes one of the two, the night the other.

What a door does is the same on both; what SQL does is tested on both, in `tests/models` and `tests/activities`.
"""

import zlib
from collections.abc import Iterable
from pathlib import PurePath

import pytest

KINDS = ("sqlite", "postgresql")
DOORS = frozenset({"api", "application", "cli", "oidc", "security"})
"""Folders of `tests/` whose tests take turns, unless they are marked with `both_databases`."""


SLOW_DOORS = frozenset({"pods"})
"""Folders of which only the slow tests take turns."""
TURNS = ("database_url", "world", "directory_url")
"""Fixtures whose parameter is a kind of database; `world` is the one of moves between pods."""


def kind_of(name: str) -> str:
    """The kind of database on which the quick suite runs a test; `name` is its node id, whatever kind that names."""
    for kind in KINDS:
        name = name.replace(kind, "")
    return KINDS[zlib.crc32(name.encode()) % len(KINDS)]


def mark_the_others(items: Iterable[pytest.Item]) -> None:
    """Mark for the night what runs on the kind of database that is not its test's own."""
    for item in items:
        folder, *_ = PurePath(item.nodeid.partition("::")[0]).relative_to("tests").parts
        takes_turns = folder in DOORS or (folder in SLOW_DOORS and item.get_closest_marker("slow"))
        if not takes_turns or item.get_closest_marker("both_databases"):
            continue
        spec = getattr(item, "callspec", None)
        kind = spec and next((spec.params[name] for name in TURNS if spec.params.get(name) in KINDS), None)
        if kind and kind != kind_of(item.nodeid):
            item.add_marker(pytest.mark.nightly)
