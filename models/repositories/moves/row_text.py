"""Rows as JSON, the same from SQLite and from PostgreSQL, and what they come to when they are added up."""

import base64
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Any, Final, TypeAlias

import orjson
from sqlalchemy import Date, LargeBinary, Table

from models.columns import Moment

Values: TypeAlias = dict[str, Any]
"""A row by its columns."""

_SUM: Final = 1 << 256


def text_of(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as one JSON document."""
    return orjson.dumps([_plain(row) for row in rows]).decode()


def rows_of(table: Table, text: str) -> list[Values]:
    """The rows again, with values of the types of their columns."""
    return [{name: _value(table, name, value) for name, value in row.items()} for row in orjson.loads(text)]


class Checksum:
    """A number that rows come to, in whatever order, and how many they are."""

    def __init__(self) -> None:
        """No row yet."""
        self.count = 0
        self._sum = 0

    def add(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Add rows."""
        for row in rows:
            text = orjson.dumps(_plain(row), option=orjson.OPT_SORT_KEYS)
            self._sum = (self._sum + int.from_bytes(hashlib.sha256(text).digest(), "big")) % _SUM
            self.count += 1

    @property
    def value(self) -> tuple[int, str]:
        """Count and sum."""
        return self.count, f"{self._sum:064x}"


def _plain(row: Mapping[str, Any]) -> Values:
    return {name: _written(value) for name, value in row.items()}


def _written(value: Any) -> Any:
    match value:
        case datetime() | date():
            return value.isoformat()
        case bytes():
            return base64.b64encode(value).decode()
        case _:
            return value


def _value(table: Table, name: str, value: Any) -> Any:
    if value is None:
        return None
    match table.c[name].type:
        case Moment():
            return datetime.fromisoformat(value)
        case Date():
            return date.fromisoformat(value)
        case LargeBinary():
            return base64.b64decode(value)
        case _:
            return value
