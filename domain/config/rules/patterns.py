"""Patterns that users write, compiled by RE2: searching takes time linear in the text, whatever the pattern.

Source: docs/reference/ci-yaml.md, "Job keywords", "Expressions", "only and except".
"""

from dataclasses import dataclass, field
from typing import Any, Final

import re2  # type: ignore[import-untyped]

from domain.errors import Invalid

FLAGS: Final = frozenset("ismU")
"""Letters after the second slash: ignore case, `.` matches line ends, `^` and `$` match at lines, ungreedy."""

SMALL_MEMORY: Final = 256 * 1024
"""Bytes that the machine of a pattern may take; enough for nearly all."""
LARGE_MEMORY: Final = 4 * 1024 * 1024
"""Bytes for the few patterns that need more."""
MAX_INSTRUCTIONS: Final = 1_000_000
"""Size of all compiled patterns of one configuration together; compiling so much takes about 1 s."""
PATTERN_COST: Final = 100
"""Instructions that each pattern is charged for beside its own."""
MAX_SEARCHED: Final = 512 * 1024 * 1024
"""Bytes of text that the patterns of one configuration may search together."""

_TOO_LARGE: Final = "pattern too large"
_MAX_PROGRAM: Final = LARGE_MEMORY // 50
"""What a pattern is charged for that was given up because of its size."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A compiled pattern; two are the same if they are written the same."""

    text: str
    compiled: Any = field(repr=False, compare=False)

    def matches(self, text: str) -> bool:
        """Whether it matches anywhere in the text."""
        return self.find(encoded(text)) is not None

    def find(self, data: bytes) -> bytes | None:
        """The first match in UTF-8 text."""
        found = self.compiled.search(data)
        return None if found is None else bytes(found.group(0))


class Capturing:
    """A pattern whose groups are of interest: what the last match in a line says."""

    def __init__(self, text: str) -> None:
        """The pattern of `/re/flags`. Raises `Invalid` as `read_pattern`."""
        pattern = read_pattern(text).text
        self._compiled = re2.compile(encoded(pattern), _options(LARGE_MEMORY, captures=True))

    def last(self, line: bytes, most: int) -> tuple[bytes | None, int]:
        """The last group of the last match, or all of it if the pattern has no groups, and how much was searched.

        What is searched is counted as if each search went to the end of the line: some patterns make it do so. When
        it is more than `most`, the rest is not looked at.
        """
        found, searched = None, len(line)
        for match in self._compiled.finditer(line):
            groups = [group for group in match.groups() if group is not None] or [match.group(0)]
            found = bytes(groups[-1])
            searched += len(line) - match.start()
            if searched > most:
                break
        return found, searched


class Patterns:
    """The patterns of one configuration: each is compiled once, and all together stay within limits."""

    def __init__(self, instructions: int = MAX_INSTRUCTIONS, searched: int = MAX_SEARCHED) -> None:
        """Begin with none, and with limits for the size of all patterns and the bytes they search."""
        self._known: dict[str, Pattern | str] = {}
        self._instructions = instructions
        self._searched = searched

    def read(self, text: str) -> Pattern:
        """The pattern of `/re/flags`. Raises `Invalid` for other text and for what RE2 does not know."""
        parts = delimited(text)
        if parts is None:
            raise Invalid(f"{_short(text)} must be a regular expression with re2 syntax, between slashes as `/^v1/`")
        body, flags = parts
        return self.of(f"(?{flags}){body}" if flags else body)

    def of(self, re_text: str) -> Pattern:
        """The pattern of a bare regular expression. Raises `Invalid` for what RE2 does not know."""
        known = self._known.get(re_text)
        if known is None:
            known = self._known[re_text] = self._compiled(re_text)
        if isinstance(known, str):
            raise Invalid(known)
        return known

    def search(self, pattern: Pattern, text: str) -> bool:
        """Whether the pattern matches anywhere. Raises `Invalid` when all searches together took too much text."""
        data = encoded(text)
        self._searched -= len(data)
        if self._searched < 0:
            raise Invalid("The regular expressions of this configuration search too much text; use fewer of them")
        return pattern.find(data) is not None

    def _compiled(self, re_text: str) -> Pattern | str:
        """The pattern, or what is wrong with it; that is remembered too."""
        if self._instructions < 0:
            return "The regular expressions of this configuration are too large together; use fewer or simpler ones"
        try:
            compiled = _compile(re_text)
        except re2.error as error:
            reason = _reason(error)
            if _TOO_LARGE in reason:
                self._instructions -= _MAX_PROGRAM
            return f"{_short(re_text)} must be a regular expression with re2 syntax: {reason}"
        self._instructions -= compiled.programsize + PATTERN_COST
        return Pattern(re_text, compiled)


def read_pattern(text: str) -> Pattern:
    """The pattern of `/re/flags`. Raises `Invalid` for other text and for what RE2 does not know."""
    return Patterns().read(text)


def pattern_of(re_text: str) -> Pattern:
    """The pattern of a bare regular expression. Raises `Invalid` for what RE2 does not know."""
    return Patterns().of(re_text)


def delimited(text: str) -> tuple[str, str] | None:
    """The parts of `/re/flags`; None for text of another form. RE2 itself reads `\\/` as a slash."""
    head, _, flags = text.rpartition("/")
    return (head[1:], flags) if head.startswith("/") and FLAGS.issuperset(flags) else None


def encoded(text: str) -> bytes:
    """UTF-8, also of text with single halves of surrogate pairs."""
    return text.encode("utf-8", "surrogatepass")


def _options(memory: int, *, captures: bool = False) -> re2.Options:
    options = re2.Options()
    options.max_mem = memory
    options.log_errors = False
    options.never_capture = not captures
    return options


_SMALL: Final = _options(SMALL_MEMORY)
_LARGE: Final = _options(LARGE_MEMORY)


def _compile(re_text: str) -> Any:
    """Most patterns are small, and what a machine may take is also what its searches may fill."""
    try:
        return re2.compile(encoded(re_text), _SMALL)
    except re2.error as error:
        if _TOO_LARGE not in _reason(error):
            raise
        return re2.compile(encoded(re_text), _LARGE)


def _reason(error: Exception) -> str:
    reason = error.args[0] if error.args else ""
    return reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)


def _short(text: str, length: int = 60) -> str:
    return f"`{text}`" if len(text) <= length else f"`{text[:length]}...`"
