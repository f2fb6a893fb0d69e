"""Rows of results as frozen dataclasses: what a statement selects has a type, which is checked when it is read.

Tables (`models.tables`) say what is stored, rows (`models.rows`, and those beside a statement of their own) what is
read. A row holds values only, so it may outlive its transaction; why it is no object of SQLModel says
docs/decisions/0031-typed-rows.md.
"""

from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any, Final, TypeVar

from sqlalchemy import Result

Typed = TypeVar("Typed")
"""A frozen dataclass whose fields are named like columns."""


_readers: Final[dict[tuple[type[Any], tuple[str, ...]], Callable[[Any], Any]]] = {}
"""By type and columns; there are as many as there are statements."""


def all_of(kind: type[Typed], result: Result[Any]) -> Sequence[Typed]:
    """All rows of a result. Raises `TypeError` when it lacks a column that `kind` has."""
    read = reader(kind, result)
    return [read(row) for row in result.all()]


def first_of(kind: type[Typed], result: Result[Any]) -> Typed | None:
    """The first row of a result, or none. Raises `TypeError` when it lacks a column that `kind` has."""
    read = reader(kind, result)
    row = result.first()
    return None if row is None else read(row)


def one_of(kind: type[Typed], result: Result[Any]) -> Typed:
    """The only row of a result. Raises `NoResultFound`, `MultipleResultsFound` or `TypeError`."""
    read = reader(kind, result)
    return read(result.one())


def reader(kind: type[Typed], result: Result[Any]) -> Callable[[Any], Typed]:
    """What makes a row of a result a `kind`; columns that it has no field for are left out. Raises `TypeError`."""
    columns = tuple(result.keys())
    read = _readers.get((kind, columns))
    if read is None:
        read = _readers[kind, columns] = _made(kind, columns)
    return read


def _made(kind: type[Any], columns: tuple[str, ...]) -> Callable[[Any], Any]:
    names = [field.name for field in fields(kind)]
    missing = [name for name in names if name not in columns]
    if missing:
        raise TypeError(f"{kind.__name__} has fields that the statement does not select: {', '.join(missing)}.")
    if names == list(columns):
        return lambda row: kind(*row)
    places = [columns.index(name) for name in names]
    return lambda row: kind(*[row[place] for place in places])
