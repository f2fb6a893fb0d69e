"""How far a short text may grow: aliases, `extends` and `parallel` multiply what is written once."""

from typing import Final

from domain.config.reading.issues import Issues
from domain.config.reading.tree import NOWHERE, Place

TEXT_BYTES: Final = 2 * 1024 * 1024
"""Longest text (docs/reference/ci-yaml.md, "Limits")."""
NODES: Final = 500_000
"""Most values in one text, counted after aliases are expanded."""
DEPTH: Final = 100
"""Deepest nesting, counted after aliases are expanded (docs/reference/ci-yaml.md, "Limits")."""
COPIES: Final = 1_500_000
"""Most entries that `extends`, default variables and parallel jobs may copy together."""


class Budget:
    """A number of entries that may still be made; used up, the configuration is refused as a whole."""

    def __init__(self, limit: int, issues: Issues) -> None:
        """Allow `limit` entries."""
        self._limit = limit
        self._left = limit
        self._issues = issues

    def spend(self, entries: int, place: Place = NOWHERE) -> None:
        """Take some away; raises `ConfigInvalid` when there are not so many left."""
        self._left -= entries
        if self._left < 0:
            self._issues.fail(
                f"The configuration grows to more than {self._limit:,} values by aliases, `extends` or `parallel`; "
                "make it smaller or split it",
                place=place,
            )
