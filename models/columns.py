"""Column types that mean the same on SQLite and PostgreSQL."""

import re
from collections.abc import Collection
from datetime import UTC, datetime
from typing import Any, TypeVar

from sqlalchemy import JSON, BigInteger, DateTime, Dialect, Index, Integer, Table, text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.types import TypeDecorator, TypeEngine
from sqlmodel import Field, SQLModel

BIG: TypeEngine[int] = BigInteger().with_variant(Integer(), "sqlite")
"""64-bit integer; SQLite wants INTEGER for a key that counts by itself."""

DOCUMENT: TypeEngine[Any] = JSON().with_variant(JSONB(), "postgresql")
"""A JSON document."""

DOCUMENT_OR_NULL: TypeEngine[Any] = JSON(none_as_null=True).with_variant(JSONB(none_as_null=True), "postgresql")
"""The same, with NULL for none."""


COUNTING: dict[str, Any] = {"sqlite_autoincrement": True}
"""No id is ever used again."""


Value = TypeVar("Value")


class Moment(TypeDecorator[datetime]):
    """A point in time, always aware and in UTC; SQLite keeps no time zone, so it is put back when reading."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Refuse naive times; store UTC."""
        if value is not None and value.tzinfo is None:
            raise ValueError("A time without a zone cannot be stored.")
        return value.astimezone(UTC) if value is not None else None

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Give back an aware time."""
        return value.replace(tzinfo=UTC) if value is not None and value.tzinfo is None else value


def key() -> Any:
    """The primary key of a table whose ids are never used again."""
    return Field(default=None, primary_key=True, sa_type=BIG)


def reference(target: str, *, index: bool = False, nullable: bool = False, primary_key: bool = False) -> Any:
    """A foreign key to `table.column`."""
    if nullable:
        return Field(default=None, foreign_key=target, index=index, nullable=True, sa_type=BIG)
    return Field(foreign_key=target, index=index, nullable=False, primary_key=primary_key, sa_type=BIG)


POINTS_TO = "points to"
"""The `info` of a column by which it names a table like a foreign key does, without being one."""


def reference_anywhere(table: str, *, index: bool = False) -> Any:
    """The id of a row of `table`, which may be one of another pod's database; of our own it is forgotten with it."""
    return Field(default=None, nullable=True, index=index, sa_type=BIG, sa_column_kwargs={"info": {POINTS_TO: table}})


def number(default: int = 0) -> Any:
    """A 64-bit integer."""
    return Field(default=default, nullable=False, sa_type=BIG)


def number_or_none(*, index: bool = False) -> Any:
    """A 64-bit integer that may be missing."""
    return Field(default=None, nullable=True, index=index, sa_type=BIG)


def moment(*, nullable: bool = True) -> Any:
    """A point in time."""
    return Field(default=None, nullable=True, sa_type=Moment) if nullable else Field(nullable=False, sa_type=Moment)


def document(default: Any = dict) -> Any:
    """A JSON document, an empty one by default."""
    return Field(default_factory=default, nullable=False, sa_type=DOCUMENT)


def document_or_none() -> Any:
    """A JSON document that may be missing: then the column is NULL, never the word `null` of JSON."""
    return Field(default=None, nullable=True, sa_type=DOCUMENT_OR_NULL)


def only(which: str) -> dict[str, Any]:
    """Of an index: it has only the rows for which this holds, as statements say it: with the table before a column."""
    bare = text(re.sub(r"\b\w+\.", "", which))
    return {"sqlite_where": bare, "postgresql_where": bare}


def where_given(table: str, *columns: str, after: tuple[str, ...] = ()) -> tuple[Index, ...]:
    """Indices of columns that few rows have; `after` are further columns of each.

    Of a column that no row has SQLite counts one value, and reads the whole table rather than its index.
    """
    return tuple(Index(f"{table}_by_{column}", column, *after, **only(f"{column} IS NOT NULL")) for column in columns)


def table_of(model: type[SQLModel]) -> Table:
    """The table behind a model, for statements that need no objects."""
    table: Table = model.__table__  # type: ignore[attr-defined]
    return table


def padded(values: Collection[Value]) -> list[Value]:
    """For `IN`: the last one again up to a power of two, so that there are few statements to prepare."""
    found = list(values)
    return found + found[-1:] * ((1 << max(len(found) - 1, 0).bit_length()) - len(found))
