"""Handing one keyword's value to its reader in tests."""

from collections.abc import Callable
from typing import Any

from domain.config.reading.field import Field
from domain.config.reading.issues import Issues
from domain.config.reading.source import read
from domain.errors import ConfigInvalid

FILE = ".gitlab-ci.yml"


def field_of(keyword: str, text: str) -> Field:
    """The value of a keyword of job `a`; the keyword stands in line 1, the text right behind it."""
    issues = Issues(FILE)
    root = read(f"{keyword}: {text}", issues).root
    path = f"jobs:a:{keyword}"
    return Field(root[keyword], path, f"{path} config", root.places[keyword], issues)


def given(reader: Callable[[Field], Any], keyword: str, text: str) -> Any:
    """What the reader makes of a right value."""
    field = field_of(keyword, text)
    found = reader(field)
    field.issues.raise_if_any()
    return found


def refused(reader: Callable[[Field], Any], keyword: str, text: str) -> list[tuple[int, str, str]]:
    """Line, path and message of everything that the reader notes, by line, without the `jobs:a:` they begin with."""
    field = field_of(keyword, text)
    reader(field)
    try:
        field.issues.raise_if_any()
    except ConfigInvalid as error:
        return [(issue.line, _short(issue.path), _short(issue.message)) for issue in error.issues]
    return []


def _short(text: str) -> str:
    assert text.startswith("jobs:a:")
    return text.removeprefix("jobs:a:")
