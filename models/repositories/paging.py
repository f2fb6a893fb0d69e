"""Rows of a listing: one page of a long one, the first row, or all of a few."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, overload

from sqlalchemy import Select, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from models import typed_rows
from models.columns import Record
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


@overload
async def slice_of(connection: AsyncConnection, listing: Listing[Typed], number: int, size: int) -> Slice[Typed]: ...
@overload
async def slice_of(connection: AsyncConnection, listing: Select[Any], number: int, size: int) -> Slice[Record]: ...
async def slice_of(connection: AsyncConnection, listing: Any, number: int, size: int) -> Slice[Any]:
    """Page `number` (from 1) of `size` rows of a listing."""
    statement = listing.statement if isinstance(listing, Listing) else listing
    rows = await every_of(connection, _limited(listing, statement.limit(size).offset((number - 1) * size)))
    if number == 1 and len(rows) < size:
        return Slice(rows, len(rows))
    counted = select(func.count()).select_from(statement.order_by(None).subquery())
    return Slice(rows, (await connection.execute(counted)).scalar_one())


@overload
async def first_of(connection: AsyncConnection, listing: Listing[Typed]) -> Typed | None: ...
@overload
async def first_of(connection: AsyncConnection, listing: Select[Any]) -> Record | None: ...
async def first_of(connection: AsyncConnection, listing: Any) -> Any:
    """The first row of a listing, if there is any."""
    statement = listing.statement if isinstance(listing, Listing) else listing
    rows = await every_of(connection, _limited(listing, statement.limit(1)))
    return rows[0] if rows else None


@overload
async def every_of(connection: AsyncConnection, listing: Listing[Typed]) -> Sequence[Typed]: ...
@overload
async def every_of(connection: AsyncConnection, listing: Select[Any]) -> Sequence[Record]: ...
async def every_of(connection: AsyncConnection, listing: Any) -> Sequence[Any]:
    """All rows of a listing that has few."""
    if isinstance(listing, Listing):
        return typed_rows.all_of(listing.kind, await connection.execute(listing.statement))
    return (await connection.execute(listing)).all()


def _limited(listing: Any, statement: Select[Any]) -> Any:
    return Listing(statement, listing.kind) if isinstance(listing, Listing) else statement
