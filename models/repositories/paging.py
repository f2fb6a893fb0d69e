"""Rows of a listing: one page of a long one, the first row, or all of a few."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from sqlalchemy import Select, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from models import typed_rows
from models.typed_rows import Typed

Kind = TypeVar("Kind", covariant=True)
"""As `Typed`; a listing of rows that are more than these is a listing of these."""


@dataclass(frozen=True, slots=True)
class Listing(Generic[Kind]):
    """An ordered statement, and what its rows are."""

    statement: Select[Any]
    kind: type[Kind]


@dataclass(frozen=True, slots=True)
class Slice(Generic[Kind]):
    """The rows of one page, and how many there are on all pages."""

    rows: Sequence[Kind]
    total: int


async def slice_of(connection: AsyncConnection, listing: Listing[Typed], number: int, size: int) -> Slice[Typed]:
    """Page `number` (from 1) of `size` rows of a listing."""
    statement = listing.statement
    result = await connection.execute(statement.limit(size).offset((number - 1) * size))
    rows = typed_rows.all_of(listing.kind, result)
    if number == 1 and len(rows) < size:
        return Slice(rows, len(rows))
    counted = select(func.count()).select_from(statement.order_by(None).subquery())
    return Slice(rows, (await connection.execute(counted)).scalar_one())


async def first_of(connection: AsyncConnection, listing: Listing[Typed]) -> Typed | None:
    """The first row of a listing, if there is any."""
    return typed_rows.first_of(listing.kind, await connection.execute(listing.statement.limit(1)))


async def every_of(connection: AsyncConnection, listing: Listing[Typed]) -> Sequence[Typed]:
    """All rows of a listing that has few."""
    return typed_rows.all_of(listing.kind, await connection.execute(listing.statement))
