"""The tables of `docs/webhooks.md`, and what of real deliveries does not fit them."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

PAGE: Final = Path(__file__).parents[4] / "docs" / "webhooks.md"
_ROW: Final = re.compile(r"^\| `(?P<key>[^`]+)` \| (?P<type>[^|]+) \| ?(?P<here>[^|]*)\|$")
_HEAD: Final = re.compile(r"^##+ (?P<name>.+)$")
_LISTED: Final = "[]"


@dataclass(frozen=True)
class Row:
    """A key, its type, and how it is here."""

    key: str
    type: str
    here: str

    @property
    def may_be_null(self) -> bool:
        """Whether null fits."""
        return self.type.endswith(" or null")

    @property
    def plain(self) -> str:
        """The type of what is not null."""
        return self.type.removesuffix(" or null")


def tables() -> dict[str, list[Row]]:
    """The rows of each section of the page."""
    found: dict[str, list[Row]] = {}
    name = ""
    for line in PAGE.read_text().splitlines():
        if head := _HEAD.match(line):
            name = head["name"]
        elif row := _ROW.match(line):
            found.setdefault(name, []).append(Row(row["key"], row["type"].strip(), row["here"].strip()))
    return {name: rows for name, rows in found.items() if not name.startswith("Webhooks")}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _fits(pattern: str, value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(pattern, value) is not None


_PLAIN: Final[Mapping[str, Callable[[Any], bool]]] = {
    "text": lambda value: isinstance(value, str),
    "number": _is_number,
    "flag": lambda value: isinstance(value, bool),
    "object": lambda value: isinstance(value, dict),
    "time": lambda value: _fits(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", value),
    "time Z": lambda value: _fits(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z", value),
}


@dataclass
class Sent:
    """What was seen of real deliveries: faults, and by section and key whether it was there, and not null."""

    tables: Mapping[str, list[Row]] = field(default_factory=tables)
    faults: list[str] = field(default_factory=list)
    there: set[tuple[str, str]] = field(default_factory=set)
    told: set[tuple[str, str]] = field(default_factory=set)

    def look(self, section: str, body: Mapping[str, Any]) -> None:
        """Hold a body, or a part of one, against its section."""
        rows = self.tables[section]
        known = {row.key for row in rows if not row.here.startswith("left out:")}
        parts = {row.key for row in rows if row.plain.strip("[]") in self.tables}
        for key in _unknown(body, known, parts):
            self.faults.append(f"{section}: `{key}` is sent, and not in the table")
        for row in rows:
            for value in _values(body, row.key.split(".")):
                self._hold(section, row, value)

    def _hold(self, section: str, row: Row, value: Any) -> None:
        place = (section, row.key)
        if row.here.startswith("left out:"):
            if value is not _MISSING:
                self.faults.append(f"{section}: `{row.key}` is sent, and said to be left out")
        elif value is _MISSING:
            if not row.here.startswith("sometimes:"):
                self.faults.append(f"{section}: `{row.key}` is missing")
        elif value is None:
            self.there.add(place)
            if not row.may_be_null:
                self.faults.append(f"{section}: `{row.key}` is null")
        else:
            self.there.add(place)
            self.told.add(place)
            if row.here.startswith("null:"):
                self.faults.append(f"{section}: `{row.key}` is {value!r}, and said to be always null")
            self._hold_type(section, row, row.plain, value)

    def _hold_type(self, section: str, row: Row, kind: str, value: Any) -> None:
        if kind.startswith("["):
            if not isinstance(value, list):
                self.faults.append(f"{section}: `{row.key}` is {value!r}, and no list")
                return
            for one in value:
                self._hold_type(section, row, kind[1:-1], one)
        elif kind in _PLAIN:
            if not _PLAIN[kind](value):
                self.faults.append(f"{section}: `{row.key}` is {value!r}, and no {kind}")
        else:
            self.look(kind, value)

    def never(self) -> list[str]:
        """What the tables promise and no delivery showed: keys, and values of those that are not always null."""
        found = []
        for section, rows in self.tables.items():
            for row in rows:
                if row.here.startswith("left out:"):
                    continue
                seen = self.there if row.here.startswith("null:") else self.told
                if (section, row.key) not in seen:
                    found.append(f"{section}: `{row.key}`")
        return found


_MISSING: Final = object()


def _values(body: Any, path: list[str]) -> Iterator[Any]:
    """What is at a path; nothing below an object that is null, or is missing."""
    key, *rest = path
    name = key.removesuffix(_LISTED)
    if name not in body:
        if not rest:
            yield _MISSING
        return
    found = body[name]
    if not rest:
        yield found
    elif found is not None:
        for one in found if key.endswith(_LISTED) else [found]:
            yield from _values(one, rest)


def _unknown(body: Mapping[str, Any], known: set[str], parts: set[str], above: str = "") -> Iterator[str]:
    """Keys of a body that no row names; what is within parts is looked at for itself."""
    for name, value in body.items():
        key = above + name
        below = key + "." if isinstance(value, dict) else f"{key}{_LISTED}."
        deeper = any(other.startswith(below) for other in known)
        if key not in known and not deeper:
            yield key
        elif deeper and key not in parts:
            for one in [value] if isinstance(value, dict) else value or ():
                yield from _unknown(one, known, parts, below)
