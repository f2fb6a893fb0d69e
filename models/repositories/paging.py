"""Rows of a listing: one page of a long one, the first row, or all of a few."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from sqlalchemy import ColumnElement, LargeBinary, Select, cast, func, literal, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.errors import TooLarge
from models import typed_rows
from models.columns import padded
from models.typed_rows import Typed

MAX_COUNTED: Final = 10_000
"""Of longer lists nobody is told how long they are, as in GitLab: to count them would take as long as they are."""
RESPONSE_BYTES: Final = 8 * 1024**2
"""Bytes of people's texts in one response: eight of the largest."""

Kind = TypeVar("Kind", covariant=True)
"""As `Typed`; a listing of rows that are more than these is a listing of these."""


@dataclass(frozen=True, slots=True)
class Listing(Generic[Kind]):
    """An ordered statement, and what its rows are."""

    statement: Select[Any]
    kind: type[Kind]
    texts: tuple[ColumnElement[str], ...] = ()
    """Columns of `statement` that people fill with as much as they like."""
    key: ColumnElement[int] | None = None
    """By it the rows of a page are found first, from an index alone: whoever plans without knowing the values would
    rather go through the whole table in its order."""

    def without_texts(self) -> "Listing[Kind]":
        """A listing of the same rows with empty texts, for a caller who shows none of them."""
        left_out = {column.key for column in self.texts}
        columns = [
            literal("").label(column.key) if column.key in left_out else column
            for column in self.statement.selected_columns
        ]
        return Listing(self.statement.with_only_columns(*columns), self.kind, key=self.key)


@dataclass(frozen=True, slots=True)
class Slice(Generic[Kind]):
    """The rows of one page, and how many there are on all pages.

    Where that is more than `MAX_COUNTED` it is only known to be more, and whether a page follows this one.
    """

    rows: Sequence[Kind]
    total: int


async def slice_of(connection: AsyncConnection, listing: Listing[Typed], number: int, size: int) -> Slice[Typed]:
    """Page `number` (from 1) of `size` rows of a listing. Raises `TooLarge` where that is more than one response takes.

    One row is never too large.
    """
    statement = listing.statement
    if listing.texts and size > 1:
        texts: Any = statement.with_only_columns(*listing.texts).limit(size).offset((number - 1) * size)
        await require_size(connection, texts, "Ask for fewer at a time, with a smaller per_page")
    page = statement.limit(size).offset((number - 1) * size)
    if listing.key is not None:
        ids = (await connection.execute(page.with_only_columns(listing.key))).scalars().all()
        page = statement.where(listing.key.in_(padded(ids)))
    rows = typed_rows.all_of(listing.kind, await connection.execute(page))
    if number == 1 and len(rows) < size:
        return Slice(rows, len(rows))
    total = int((await connection.execute(counting(statement))).scalar_one())
    if total > MAX_COUNTED:
        total = max(total, (number - 1) * size + len(rows) + (len(rows) == size))
    return Slice(rows, total)


def counting(statement: Select[Any]) -> Select[Any]:
    """How many rows a listing has, up to one beyond `MAX_COUNTED`: without their columns, or each of them is read."""
    bare = statement.order_by(None).with_only_columns(literal(1), maintain_column_froms=True)
    return select(func.count()).select_from(bare.limit(MAX_COUNTED + 1).subquery())


async def require_size(connection: AsyncConnection, texts: Select[Any], advice: str) -> None:
    """Raise `TooLarge` unless the texts that a statement selects go into one response; they are not read for it."""
    # SQLite before 3.43 has no OCTET_LENGTH.
    size_of = func.octet_length if connection.dialect.name == "postgresql" else _bytes_on_sqlite
    sizes = [func.sum(size_of(one)) for one in texts.subquery().c]
    total = sum(size or 0 for size in (await connection.execute(select(*sizes))).one())
    if total > RESPONSE_BYTES:
        raise too_large(total, advice)


def too_large(size: int, advice: str) -> TooLarge:
    """The error for a response with so many bytes of people's texts."""
    most = f"at most {RESPONSE_BYTES // 1024**2} MiB are sent at once"
    return TooLarge(f"Request Entity Too Large: these are {size / 1024**2:.1f} MiB of text; {most}. {advice}.")


def _bytes_on_sqlite(column: ColumnElement[str]) -> ColumnElement[int]:
    return func.length(cast(column, LargeBinary))


async def first_of(connection: AsyncConnection, listing: Listing[Typed]) -> Typed | None:
    """The first row of a listing, if there is any."""
    return typed_rows.first_of(listing.kind, await connection.execute(listing.statement.limit(1)))


async def every_of(connection: AsyncConnection, listing: Listing[Typed]) -> Sequence[Typed]:
    """All rows of a listing that has few."""
    return typed_rows.all_of(listing.kind, await connection.execute(listing.statement))
