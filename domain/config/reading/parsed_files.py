"""Files that were parsed already: the next round of a compilation, and the next pipeline, do not parse them again."""

from dataclasses import dataclass
from sys import getsizeof
from typing import Final, TypeAlias

from domain.config.reading.issues import Issues
from domain.config.reading.source import Source, read
from domain.config.reading.tree import size_of
from domain.errors import ConfigInvalid

MOST_BYTES: Final = 160 * 1024 * 1024
"""What a configuration of the most values that there may be (`NODES`) takes, about, whether it is kept or not."""
LASTING_BYTES: Final = 16 * 1024 * 1024
"""What is kept when a configuration was compiled: enough for 5,000 jobs, or for what many projects include."""
MOST_FILES: Final = 512

_OF_VALUE: Final = 300
"""Bytes that a value takes with its key and its place, about."""

_Key: TypeAlias = tuple[str, str, str]
"""Its text, its name in places, and the name of the main file."""


@dataclass(frozen=True, slots=True)
class _Parsed:
    source: Source | None
    issues: Issues
    size: int


class ParsedFiles:
    """Keeps what was parsed last, by content and by the names that its places have; values are never changed.

    One text reads the same for everybody, so nobody learns of another's files by it. Work may be interrupted anywhere:
    each step leaves it whole.
    """

    def __init__(self) -> None:
        """Nothing was parsed yet."""
        self._kept: dict[_Key, _Parsed] = {}

    def read(self, text: str, issues: Issues, file: str = "") -> Source:
        """As `domain.config.reading.source.read`, with the same issues and warnings. Raises `ConfigInvalid`."""
        key = (text, file, issues.file)
        parsed = self._kept.pop(key, None)
        is_new = parsed is None
        if parsed is None:
            parsed = _parsed(text, issues.file, file)
        self._kept[key] = parsed  # the newest is the last
        if is_new:
            self.keep(MOST_BYTES)
        issues.take(parsed.issues)
        if parsed.source is None:
            issues.give_up()
        return parsed.source

    def keep(self, most: int) -> None:
        """Forget what was asked for longest ago, until the rest takes `most` bytes at most."""
        size = sum(parsed.size for parsed in self._kept.values())
        for key in list(self._kept):
            if size <= most and len(self._kept) <= MOST_FILES:
                break
            size -= self._kept.pop(key).size

    @property
    def size(self) -> int:
        """Bytes that it takes, about."""
        return sum(parsed.size for parsed in self._kept.values())


def _parsed(text: str, main: str, file: str) -> _Parsed:
    issues = Issues(main)
    source = None
    size = 2 * getsizeof(text)  # itself and what is made of it
    try:
        source = read(text, issues, file)
        size += _OF_VALUE * (source.values + (size_of(source.header) if source.header is not None else 0))
    except ConfigInvalid:
        size += sum(len(issue.message) for issue in issues.found)
    return _Parsed(source, issues, size)
