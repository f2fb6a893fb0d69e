"""The database's clock: all processes share it, while each machine has a clock of its own that may be wrong."""

from datetime import UTC, datetime
from functools import cache

from sqlalchemy import ColumnElement, Executable, Float, cast, func, literal_column, select
from sqlalchemy.ext.asyncio import AsyncConnection


def seconds_of(dialect: str) -> ColumnElement[float]:
    """Seconds since 1970, for use in a statement of this dialect."""
    if dialect == "sqlite":
        return cast(literal_column("(julianday('now') - 2440587.5) * 86400.0"), Float)
    return cast(func.extract("epoch", func.clock_timestamp()), Float)


@cache
def _seconds(dialect: str) -> Executable:
    return select(seconds_of(dialect))


async def seconds(connection: AsyncConnection) -> float:
    """Seconds since 1970."""
    return float((await connection.execute(_seconds(connection.dialect.name))).scalar_one())


async def moment(connection: AsyncConnection) -> datetime:
    """The present moment."""
    return datetime.fromtimestamp(await seconds(connection), UTC)
