"""Lists in JSON columns as rows, alike on SQLite and PostgreSQL, so that the database can sort and page them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import Column, ColumnElement, Float, cast, column, func
from sqlalchemy.dialects.postgresql import JSONB


@dataclass(frozen=True, slots=True)
class Elements:
    """The elements of one list column: each as a `document`, and `place`, its position in the list."""

    dialect: str
    document: ColumnElement[Any]
    place: ColumnElement[Any]

    def text(self, name: str) -> ColumnElement[Any]:
        """A key of each element as text."""
        if self.dialect == "sqlite":
            return func.json_extract(self.document, f"$.{name}")
        found: ColumnElement[Any] = self.document[name].astext
        return found

    def number(self, name: str) -> ColumnElement[Any]:
        """A key of each element as a number; 0 where there is none."""
        found = self.text(name)
        return func.coalesce(found if self.dialect == "sqlite" else cast(found, Float), 0.0)


def elements(dialect: str, of: Column[Any]) -> Elements:
    """The elements of a column that holds lists of mappings."""
    if dialect == "sqlite":
        rows = func.json_each(of).table_valued("value", "key", name="one", joins_implicitly=True)
    else:
        rows = (
            func.jsonb_array_elements(of)
            .table_valued(column("value", JSONB), with_ordinality="key", name="one", joins_implicitly=True)
            .render_derived()
        )
    return Elements(dialect, rows.c.value, rows.c.key)


def document_of(value: Any) -> Mapping[str, Any]:
    """An element as it was read: SQLite gives JSON as text."""
    found: Mapping[str, Any] = orjson.loads(value) if isinstance(value, (str, bytes)) else value
    return found
