"""Collecting what is wrong with a configuration, so that all of it is told at once."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NoReturn

from domain.config.issue import ConfigIssue
from domain.config.reading.tree import NOWHERE, Place
from domain.errors import ConfigInvalid

MAX_MESSAGE: Final = 1_000
"""Characters; a message quotes the text, and an alias may put one long text into many messages."""


MAX_ISSUES: Final = 1_000
"""Issues that are told; after so many the rest is not looked for."""


class Issues:
    """The issues and warnings found so far in a configuration, which may have several files."""

    def __init__(self, file: str) -> None:
        """`file` is the main one: issues whose place names no other file are in it."""
        self.file = file
        self._found: list[ConfigIssue] = []
        self._warnings: dict[ConfigIssue, None] = {}

    def __len__(self) -> int:
        """How many issues were found."""
        return len(self._found)

    def add(self, message: str, path: str = "", place: Place = NOWHERE) -> None:
        """Note an issue and go on, or raise `ConfigInvalid` if it is the last that is told.

        `path` is the keyword's, as in `jobs:build:artifacts`.
        """
        self.adopt(self._issue(message, path, place))

    def warn(self, message: str, path: str = "", place: Place = NOWHERE) -> None:
        """Note something that works but is deprecated or rarely meant; the same is noted once."""
        warning = self._issue(message, path, place)
        if len(self._warnings) < MAX_ISSUES:
            self._warnings[warning] = None

    @property
    def found(self) -> tuple[ConfigIssue, ...]:
        """The issues, in the order in which they were found."""
        return tuple(self._found)

    def adopt(self, issue: ConfigIssue) -> None:
        """Note an issue that was found apart, or raise `ConfigInvalid` if it is the last that is told."""
        self._found.append(issue)
        if len(self._found) == MAX_ISSUES:
            raise self._error()

    def take(self, other: "Issues") -> None:
        """Note the issues and warnings that were found apart."""
        self._warnings |= dict.fromkeys(other.warnings)
        for issue in other.found:
            self.adopt(issue)

    @property
    def warnings(self) -> tuple[ConfigIssue, ...]:
        """The warnings, in the order of the text."""
        return _in_order(tuple(self._warnings))

    def fail(self, message: str, path: str = "", place: Place = NOWHERE, *, excerpt: str = "") -> NoReturn:
        """Note an issue after which nothing more can be read; raises `ConfigInvalid`.

        `excerpt` shows the lines that it is about.
        """
        self.adopt(replace(self._issue(message, path, place), excerpt=excerpt))
        raise self._error()

    def give_up(self) -> NoReturn:
        """Raise `ConfigInvalid` with all issues that were found."""
        raise self._error()

    def raise_if_any(self) -> None:
        """Raise `ConfigInvalid` with all issues, in the order of the text, unless there are none."""
        if self._found:
            raise self._error()

    def _error(self) -> ConfigInvalid:
        return ConfigInvalid(_in_order(self._found))

    def _issue(self, message: str, path: str, place: Place) -> ConfigIssue:
        if len(message) > MAX_MESSAGE:
            message = message[:MAX_MESSAGE] + "..."
        return ConfigIssue(message, path, place.file or self.file, place.line, place.column)


def _in_order(issues: Sequence[ConfigIssue]) -> tuple[ConfigIssue, ...]:
    """File by file, as they were met first, and each in the order of its text."""
    files = {file: number for number, file in enumerate(dict.fromkeys(issue.file for issue in issues))}
    return tuple(sorted(issues, key=lambda issue: (files[issue.file], issue.line, issue.column)))
