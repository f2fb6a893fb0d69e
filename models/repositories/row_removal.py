"""Removing rows with all that belongs to them, found by the foreign keys of all tables, and what is like them.

Whatever cannot be without a row that goes, goes with it; whatever only points to one forgets it. A new table needs
nothing here.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

from sqlalchemy import Column, ColumnElement, Table, delete, select, update
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlmodel import SQLModel

from models.columns import POINTS_TO

Rules: TypeAlias = dict[str, ColumnElement[bool]]
"""By table: which of its rows go."""


def rules_of(
    root: Table, which: ColumnElement[bool], owned_by: str = "", value: int = 0, without: Sequence[Table] = ()
) -> Rules:
    """The rows of each table that go with rows of `root`: those that cannot be without one that goes.

    Where a table has the column `owned_by`, what belongs to `value` goes instead. Of the tables `without`, and of what
    cannot be without a row of those, nothing is left.
    """
    rules: Rules = {root.name: which}
    empty = {table.name for table in without}
    for table in SQLModel.metadata.sorted_tables:
        if table.name in rules:
            continue
        needed = [_target(column) for column in table.c if not column.nullable]
        if table.name in empty or any(target is not None and target.name in empty for target in needed):
            empty.add(table.name)
            continue
        if owned_by and owned_by in table.c:
            rules[table.name] = table.c[owned_by] == value
            continue
        for column in table.c:
            target = _target(column)
            if target is not None and not column.nullable and target.name in rules:
                rules[table.name] = column.in_(select(target.c.id).where(rules[target.name]))
                break
    return rules


async def remove(connection: AsyncConnection, rules: Rules, owned_by: str = "") -> None:
    """Remove the rows; those that stay forget them."""
    for table in SQLModel.metadata.sorted_tables:
        for column, target in _optional_references(table, rules, owned_by):
            gone = select(target.c.id).where(rules[target.name])
            await connection.execute(update(table).where(column.in_(gone)).values({column.name: None}))
    for table in reversed(SQLModel.metadata.sorted_tables):
        if table.name in rules:
            await connection.execute(delete(table).where(rules[table.name]))


def _optional_references(table: Table, rules: Rules, owned_by: str) -> list[tuple[Any, Table]]:
    """Columns of a table that may point to rows that go, but need not; each with the table of those."""
    targets = [(column, _target(column)) for column in table.c if column.nullable and column.name != owned_by]
    return [(column, target) for column, target in targets if target is not None and target.name in rules]


def _target(column: Column[Any]) -> Table | None:
    """The table that a column points to; None for one that does not."""
    if column.foreign_keys:
        return next(iter(column.foreign_keys)).column.table
    named = column.info.get(POINTS_TO)
    return SQLModel.metadata.tables[named] if named else None
