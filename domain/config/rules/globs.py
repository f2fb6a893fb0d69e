"""Globs of `changes` and `exists`, compiled to RE2. Source: docs/reference/ci-yaml.md, "Changes and exists".

`*` and `?` stop at a slash, `**/` at the start of a segment stands for any folders, also none, `{a,b}` are
alternatives, `[a-z]` and `[!a]` one character, a backslash takes the meaning from what follows. Dot files are like all
others.

Paths are searched all at once, each after a zero byte and before a byte of one, which no part of a compiled glob holds.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from string import ascii_letters, digits
from typing import Final

from domain.config.rules.patterns import Pattern, encoded, pattern_of
from domain.errors import Invalid

MAX_GLOB: Final = 4_096
"""Characters; no path of a git tree is longer."""

_ANY: Final = r"[^/\x00]*"
_ONE: Final = r"[^/\x00]"
_FOLDERS: Final = r"(?:[^/\x00]*/)*"
_ANYTHING: Final = r"[^\x00]*"
_NEVER: Final = r"[^\x00-\x{10FFFF}]"
_MAGIC: Final = frozenset("*?[{\\")
_SLASH: Final = ord("/")
_PLAIN: Final = frozenset(ascii_letters + digits + "/_")


@dataclass(frozen=True, slots=True)
class PathText:
    """The paths of a tree or a change, ready to be searched."""

    data: bytes
    paths: frozenset[str]

    @classmethod
    def of(cls, paths: Sequence[str]) -> "PathText":
        """Join paths; those with one of the marks, which no sane file has, are left out."""
        kept = [path for path in paths if "\0" not in path and "\1" not in path]
        return cls(encoded("".join(f"\0{path}\1" for path in kept)), frozenset(kept))


class Glob:
    """A glob that is compared with whole paths. With `folders`, one that ends in a slash matches all below a folder."""

    def __init__(self, pattern: str, *, folders: bool = False) -> None:
        """Compile it. Raises `Invalid` if it is too long or too large."""
        if len(pattern) > MAX_GLOB:
            raise Invalid(f"`{pattern[:60]}...` is too long for a glob (maximum is {MAX_GLOB} characters)")
        self.pattern = pattern
        below = folders and pattern.endswith("/")
        self.exact = not below and is_exact(pattern)
        self._compiled: Pattern | None = None
        if not self.exact and "\0" not in pattern and "\1" not in pattern:
            self._compiled = pattern_of(f"\\x00(?:{_translated(pattern)}{_ANYTHING if below else ''})\\x01")

    def matches(self, path: str) -> bool:
        """Whether it matches this path."""
        return self.first(PathText.of((path,))) is not None

    def first(self, paths: PathText) -> str | None:
        """The first path that it matches."""
        if self.exact:
            return self.pattern if self.pattern in paths.paths else None
        found = self._compiled.find(paths.data) if self._compiled else None
        return None if found is None else found[1:-1].decode("utf-8", "surrogatepass")


def is_exact(pattern: str) -> bool:
    """Whether a glob is just a path."""
    return _MAGIC.isdisjoint(pattern)


def is_extension(pattern: str) -> bool:
    """Whether a glob is of the form `**/*.ext`; `exists` does not count comparisons with such ones."""
    rest = pattern.removeprefix("**/*")
    return rest != pattern and rest.startswith(".") and "/" not in rest and is_exact(rest)


def is_top_level(pattern: str) -> bool:
    """Whether `exists` looks for a glob at the top of the tree only."""
    return "/" not in pattern and "**" not in pattern


def _translated(glob: str) -> str:
    """The regular expression of a glob."""
    marks = _marks(glob)
    parts: list[str] = []
    starts: list[tuple[bool, list[bool]]] = []
    at_start, position = True, 0
    while position < len(glob):
        mark = marks.get(position)
        if mark is not None:
            parts.append(mark)
            at_start = _crossed(mark, starts, at_start=at_start)
            position += 1
            continue
        part, end = _piece(glob, position, marks, at_start=at_start)
        parts.append(part)
        at_start = glob[end - 1] == "/"
        position = end
    return "".join(parts)


def _crossed(mark: str, starts: list[tuple[bool, list[bool]]], *, at_start: bool) -> bool:
    """Whether a segment may start behind a mark of alternatives, given whether one does before it."""
    if mark == "(?:":
        starts.append((at_start, []))
        return at_start
    before, ends = starts[-1]
    ends.append(at_start)
    if mark == "|":
        return before
    starts.pop()
    return any(ends)


def _marks(glob: str) -> dict[int, str]:
    """Offsets of the signs of alternatives with what stands for them; braces without a partner mean themselves."""
    marks: dict[int, str] = {}
    unclosed: list[int] = []
    for position, sign in _unescaped(glob):
        if sign == "{":
            unclosed.append(position)
            marks[position] = "(?:"
        elif unclosed and sign in ",}":
            marks[position] = "|" if sign == "," else ")"
            if sign == "}":
                unclosed.pop()
    return {position: mark for position, mark in marks.items() if not unclosed or position < unclosed[0]}


def _unescaped(glob: str) -> Iterator[tuple[int, str]]:
    position = 0
    while position < len(glob):
        if glob[position] == "\\":
            position += 1
        else:
            yield position, glob[position]
        position += 1


def _piece(glob: str, position: int, marks: dict[int, str], *, at_start: bool) -> tuple[str, int]:
    """The regular expression of what starts at a position, and where that ends."""
    sign = glob[position]
    if sign == "*":
        end = position
        if at_start and glob.startswith("**/", position):
            while glob.startswith("**/", end):
                end += 3
            return _FOLDERS, end
        while end < len(glob) and glob[end] == "*":
            end += 1
        return _ANY, end
    if sign == "?":
        return _ONE, position + 1
    if sign == "[":
        return _bracket(glob, position + 1, marks)
    if sign == "\\" and position + 1 < len(glob):
        position += 1
    return _literal(glob[position]), position + 1


def _bracket(glob: str, position: int, marks: dict[int, str]) -> tuple[str, int]:
    """One character of a set, never a slash. A set that is not closed, or is empty, matches nothing."""
    negated = glob[position : position + 1] in ("!", "^")
    position += negated
    ranges: list[tuple[int, int]] = []
    while position < len(glob) and glob[position] != "]" and position not in marks:
        low, position = _member(glob, position)
        high = low
        ranged = glob[position : position + 1] == "-" and glob[position + 1 : position + 2] not in ("", "]")
        if ranged and position + 1 not in marks:
            high, position = _member(glob, position + 1)
        ranges.append((low, high))
    if position >= len(glob) or position in marks:
        return _NEVER, position
    inside = "".join(_range(low, high) for low, high in ranges)
    if negated:
        return f"[^/\\x00{inside}]", position + 1
    return (f"[{inside}]" if inside else _NEVER), position + 1


def _member(glob: str, position: int) -> tuple[int, int]:
    if glob[position] == "\\" and position + 1 < len(glob):
        position += 1
    return ord(glob[position]), position + 1


def _range(low: int, high: int) -> str:
    """A range without the slash; nothing if it runs backwards."""
    halves = ((low, min(high, _SLASH - 1)), (max(low, _SLASH + 1), high))
    return "".join(f"\\x{{{first:X}}}-\\x{{{last:X}}}" for first, last in halves if first <= last)


def _literal(text: str) -> str:
    """Text that means itself."""
    return "".join(sign if sign in _PLAIN else f"\\x{{{ord(sign):X}}}" for sign in text)
