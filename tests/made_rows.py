"""Rows that no database gave: what a test does not say is empty, or zero, or some moment."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import UTC, date, datetime
from typing import Any, Final, TypeVar, get_args, get_origin, get_type_hints

Made = TypeVar("Made")

_EMPTY: Final[Mapping[Any, Any]] = {
    str: "",
    int: 0,
    bool: False,
    bytes: b"",
    float: 0.0,
    datetime: datetime(2026, 1, 1, tzinfo=UTC),
    date: date(2026, 1, 1),
    Mapping: {},
    Sequence: (),
}


def made(kind: type[Made], **values: Any) -> Made:
    """A row of that type with these values. Raises `TypeError` for one that it has no field for."""
    hints = get_type_hints(kind)
    rest = {field.name: _empty(hints[field.name]) for field in fields(kind) if field.name not in values}  # type: ignore[arg-type]
    return kind(**rest, **values)


def _empty(hint: Any) -> Any:
    return None if type(None) in get_args(hint) else _EMPTY[get_origin(hint) or hint]
