"""Files that were parsed already: the next round of a compilation, and the next pipeline, do not parse them again.

Nor do they put the values of inputs in again.
"""

from dataclasses import dataclass
from sys import getsizeof
from typing import Final

from domain.config.reading.filled import OF_VALUE, Filled, FilledKey
from domain.config.reading.issues import Issues
from domain.config.reading.source import Source, Written, read
from domain.config.reading.tree import size_of
from domain.errors import ConfigInvalid

MAX_BYTES: Final = 160 * 1024 * 1024
"""What a configuration of the most values that there may be (`NODES`) takes, about, whether it is kept or not."""
LASTING_BYTES: Final = 16 * 1024 * 1024
"""What is kept when a configuration was compiled: enough for 5,000 jobs, or for what many projects include."""
MAX_FILES: Final = 512


@dataclass(frozen=True, slots=True)
class _Parsed:
    written: Written
    source: Source | None
    issues: Issues
    size: int


class ParsedFiles:
    """Keeps what was parsed and filled in last, by content and by the names that its places have.

    One text reads the same for everybody, and becomes the same by the same values, so nobody learns of another's files
    by it. Values are never changed. Work may be interrupted anywhere: each step leaves it whole.
    """

    def __init__(self) -> None:
        """Nothing was parsed yet."""
        self._kept: dict[Written | FilledKey, _Parsed | Filled] = {}

    def read(self, text: str, issues: Issues, file: str = "") -> Source:
        """As `domain.config.reading.source.read`, with the same issues and warnings. Raises `ConfigInvalid`."""
        key = Written(text, file, issues.file)
        parsed = self._kept.pop(key, None)
        is_new = not isinstance(parsed, _Parsed)
        if not isinstance(parsed, _Parsed):
            parsed = _parsed(key)
        self._kept[parsed.written] = parsed  # the newest is the last
        if is_new:
            self.keep(MAX_BYTES)
        issues.take(parsed.issues)
        if parsed.source is None:
            issues.give_up()
        return parsed.source

    def filled(self, key: FilledKey) -> Filled | None:
        """What was made of the same file and values. Whether it holds here depends on the variables that it saw."""
        found = self._kept.pop(key, None)
        if not isinstance(found, Filled):
            return None
        self._kept[key] = found
        return found

    def keep_filled(self, key: FilledKey, filled: Filled) -> None:
        """Keep what was made; nothing was wrong with it."""
        self._kept.pop(key, None)
        self._kept[key] = filled
        self.keep(MAX_BYTES)

    def keep(self, most: int) -> None:
        """Forget what was asked for longest ago, until the rest takes `most` bytes at most."""
        size = self.size
        for key in list(self._kept):
            if size <= most and len(self._kept) <= MAX_FILES:
                break
            size -= self._kept.pop(key).size

    @property
    def size(self) -> int:
        """Bytes that it takes, about."""
        return sum(one.size for one in self._kept.values())


def _parsed(written: Written) -> _Parsed:
    issues = Issues(written.main)
    source = None
    size = 2 * getsizeof(written.text)  # itself and what is made of it
    try:
        source = read(written.text, issues, written.file)
        size += OF_VALUE * (source.values + (size_of(source.header) if source.header is not None else 0))
    except ConfigInvalid:
        size += sum(len(issue.message) for issue in issues.found)
    return _Parsed(written, source, issues, size)
