"""`*` and `**` in `include:local`: what GitLab's search for files means by them, not what `rules:exists` does.

`*` is any text without `/`, `**` any text; so `ci/**/*.yml` is below a folder of `ci`. Everything else is itself.
"""

from collections.abc import Iterator
from typing import Final

from domain.config.rules.globs import PathText
from domain.config.rules.patterns import pattern_of

MAX_WILDCARD: Final = 1_024
"""Characters of a path with wildcards."""
MAX_STARS: Final = 32
"""Stars in one path."""

_GAPS: Final = (("**", r"[^\x00]*"), ("*", r"[^/\x00]*"))
"""What may be written between texts, and the regular expression for it."""


def has_wildcard(path: str) -> bool:
    """Whether a path stands for several."""
    return "*" in path


def is_too_long(wildcard: str) -> bool:
    """Whether a path with wildcards exceeds a limit."""
    return len(wildcard) > MAX_WILDCARD or wildcard.count("*") > MAX_STARS


def matching(wildcard: str, paths: PathText) -> list[str]:
    """Those of the paths that are meant, in their order. The path with wildcards must not be too long."""
    pattern = pattern_of(rf"\x00{''.join(_translated(wildcard))}\x01")
    return [found.group()[1:-1].decode("utf-8", "surrogatepass") for found in pattern.compiled.finditer(paths.data)]


def _translated(wildcard: str) -> Iterator[str]:
    """The regular expression, piece by piece."""
    position = 0
    while position < len(wildcard):
        written, piece = next(
            ((gap, piece) for gap, piece in _GAPS if wildcard.startswith(gap, position)),
            (wildcard[position], rf"\x{{{ord(wildcard[position]):X}}}"),
        )
        yield piece
        position += len(written)
