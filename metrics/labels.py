"""Values of labels that others choose, such as tags of jobs: never more of them than Prometheus can bear.

Each value of a label is a time series of its own, for as long as Prometheus keeps it. So a process knows the first ones
it meets by their names and all later ones as `other`.
"""

from collections.abc import Iterable
from typing import Final

OTHER: Final = "other"
"""What came after all places were taken, or is too long."""
UNTAGGED: Final = "untagged"
"""The list of tags that has none."""
MAX_LENGTH: Final = 100
"""Characters of a value."""


class BoundedLabel:
    """The values of one label in one process: `most` at most, and `other`."""

    def __init__(self, most: int) -> None:
        """Nothing is known yet."""
        self._most = most
        self._known: set[str] = set()

    def of(self, value: str) -> str:
        """The value itself while there is room for it, else `other`."""
        if value in self._known:
            return value
        if len(self._known) >= self._most or not value or len(value) > MAX_LENGTH:
            return OTHER
        self._known.add(value)
        return value


def tag_set(tags: Iterable[str]) -> str:
    """A list of tags as the value of a label: `docker,linux`."""
    return ",".join(sorted(tags)) or UNTAGGED
