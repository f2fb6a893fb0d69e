"""Rows in tables that `bench.growth` leaves empty: enough that how they are read matters to a planner."""

from collections.abc import Iterable
from typing import Any, Final

from sqlalchemy import (
    Boolean,
    Column,
    ColumnElement,
    Float,
    Integer,
    LargeBinary,
    String,
    Table,
    TypeDecorator,
    UniqueConstraint,
    cast,
    insert,
    literal,
    select,
    text,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from models.columns import Moment, table_of
from models.schema import METADATA
from models.tables.pipelines import Job

_EVERY: Final = 5
"""One of so many jobs gets a row in each table."""
_FAMILY: Final = 10
"""So many rows belong to one row of another table that is filled."""
_AUTHORS: Final = 500
"""So many people have made the rows."""
_ENDED: Final = {"merge_request": "merged"}
"""The state in which nearly all rows are, where that is not `done`."""
_job = table_of(Job)


async def fill(connection: AsyncConnection, names: Iterable[str], user: int) -> None:
    """Give each of these tables, which are empty, a row for some jobs; all of them have ended."""
    for table in METADATA.sorted_tables:
        if table.name not in names:
            continue
        values = [_value(column, user).label(column.name) for column in table.columns]
        rows = select(*values).where(_job.c.id % _EVERY == 0)
        await connection.execute(insert(table).from_select([column.name for column in table.columns], rows))
        if connection.dialect.name == "postgresql" and "id" in table.c:
            last = f"(SELECT max(id) FROM {table.name})"
            await connection.execute(text(f"SELECT setval(pg_get_serial_sequence('{table.name}', 'id'), {last})"))


def _value(column: Column[Any], user: int) -> ColumnElement[Any]:
    """What a column of a new row has, by what it is for."""
    target = next((each.column.table.name for each in column.foreign_keys), "")
    known: dict[str, ColumnElement[Any]] = {
        "project": _job.c.project_id,
        "pipeline": _job.c.pipeline_id,
        "job": _job.c.id,
    }
    known["account"] = literal(user) + _job.c.id % _AUTHORS
    if target in known and list(column.table.primary_key) != [column]:
        return known[target]
    if column.primary_key or column.name == "iid" or _is_unique(column):
        return _plain(column) if isinstance(column.type, Boolean | Moment) else cast(_job.c.id, column.type)
    if target and column.nullable:
        return cast(literal(None), column.type)
    family = _job.c.id - _job.c.id % (_EVERY * _FAMILY)
    if target and target != "pipeline_schedule":
        return family
    if target or column.name.endswith("_id"):
        return -_job.c.id if target else -family  # of nobody
    return _plain(column)


def _plain(column: Column[Any]) -> ColumnElement[Any]:
    kind = column.type
    if isinstance(kind, Moment):
        return _job.c.created_at
    if isinstance(kind, TypeDecorator):
        kind = kind.impl_instance
    if isinstance(kind, Boolean):
        return literal(value=False)
    if isinstance(kind, String) and column.name in {"name", "sha", "uuid"}:
        return cast(_job.c.id, kind)
    if isinstance(kind, String) and column.name == "auto_merge":
        return literal("")
    if isinstance(kind, String):
        return literal(_ENDED.get(column.table.name, "done") if column.name in {"state", "status"} else "x")
    if isinstance(kind, LargeBinary):
        return literal(b"")
    if isinstance(kind, Integer | Float):
        return cast(literal(1), kind)
    return literal({}, kind)


def _is_unique(column: Column[Any]) -> bool:
    table: Table = column.table
    last = [list(one.columns)[-1] for one in table.constraints if isinstance(one, UniqueConstraint)]
    return bool(column.unique) or column in last
