"""Rows of a statement: one page of a long list, the first one, or all of a few."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Select, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from models.columns import Record


@dataclass(frozen=True, slots=True)
class Slice:
    """The rows of one page, and how many there are on all pages."""

    rows: Sequence[Record]
    total: int


async def slice_of(connection: AsyncConnection, statement: Select[Any], number: int, size: int) -> Slice:
    """Page `number` (from 1) of `size` rows of an ordered statement."""
    rows = (await connection.execute(statement.limit(size).offset((number - 1) * size))).all()
    if number == 1 and len(rows) < size:
        return Slice(rows, len(rows))
    counted = select(func.count()).select_from(statement.order_by(None).subquery())
    return Slice(rows, (await connection.execute(counted)).scalar_one())


async def first_of(connection: AsyncConnection, statement: Select[Any]) -> Record | None:
    """The first row of an ordered statement, if there is any."""
    return (await connection.execute(statement.limit(1))).first()


async def every_of(connection: AsyncConnection, statement: Select[Any]) -> Sequence[Record]:
    """All rows of a statement that gives few."""
    rows: Sequence[Record] = (await connection.execute(statement)).all()
    return rows
