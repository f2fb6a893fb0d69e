"""Rows have the columns of their tables, of the same types; results that lack some are told at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from sqlalchemy import create_engine, text
from sqlmodel import SQLModel

import models.rows
import models.tables
from models.columns import table_of
from models.typed_rows import all_of, first_of

_TABLES: dict[str, type[SQLModel]] = {
    f"{name}Row": kind
    for module in iter_modules(models.tables.__path__, "models.tables.")
    for name, kind in vars(import_module(module.name)).items()
    if isinstance(kind, type) and issubclass(kind, SQLModel) and hasattr(kind, "__table__")
}
_ROWS: dict[str, type[Any]] = {
    name: kind
    for module in iter_modules(models.rows.__path__, "models.rows.")
    for name, kind in vars(import_module(module.name)).items()
    if name in _TABLES
}
_COMPUTED: dict[str, set[str]] = {"PipelineRow": {"warned"}, "StageRow": {"warned"}}
"""Fields that no column holds: each statement computes them, so that no reader can forget to ask."""


def _plain(hint: Any) -> Any:
    """A type with lists and dictionaries as what reads them."""
    origin, arguments = get_origin(hint), tuple(_plain(item) for item in get_args(hint))
    known = {list: Sequence, dict: Mapping}
    return (known.get(origin or hint, origin or hint), arguments) if origin or hint in known else hint


def test_the_rows_of_the_large_tables_are_there() -> None:
    assert {"JobRow", "PipelineRow", "ProjectRow", "RunnerRow", "MergeRequestRow"} <= set(_ROWS)


@pytest.mark.parametrize("name", sorted(_ROWS))
def test_a_row_has_the_columns_of_its_table(name: str) -> None:
    row, table = _ROWS[name], _TABLES[name]
    columns, kinds, stored = table_of(table).c, get_type_hints(row), get_type_hints(table)
    assert {field.name for field in fields(row)} == set(columns.keys()) | _COMPUTED.get(name, set())
    for column in columns:
        hint = stored[column.name]
        wanted = hint.__args__[0] if column.primary_key and get_args(hint) else hint
        assert _plain(kinds[column.name]) == _plain(wanted), column
        assert column.nullable == (type(None) in get_args(kinds[column.name])), column


@dataclass(frozen=True, slots=True)
class _Pair:
    first: int
    second: str


def test_columns_are_taken_by_name_and_missing_ones_are_told() -> None:
    with create_engine("sqlite://").connect() as connection:
        result = connection.execute(text("SELECT 'b' AS second, 7 AS other, 1 AS first"))
        assert all_of(_Pair, result) == [_Pair(1, "b")]
        assert first_of(_Pair, connection.execute(text("SELECT 1 AS first, 'b' AS second LIMIT 0"))) is None
        with pytest.raises(TypeError, match=r"_Pair has fields that the statement does not select: second\."):
            first_of(_Pair, connection.execute(text("SELECT 1 AS first")))
