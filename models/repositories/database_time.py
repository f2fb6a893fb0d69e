"""The database's clock: all processes share it, while each machine has a clock of its own that may be wrong."""

from datetime import UTC, datetime

from sqlalchemy import ColumnElement, Float, cast, func, literal_column, select
from sqlalchemy.ext.asyncio import AsyncConnection


def seconds_of(dialect: str) -> ColumnElement[float]:
    """Seconds since 1970, for use in a statement of this dialect."""
    if dialect == "sqlite":
        return cast(literal_column("(julianday('now') - 2440587.5) * 86400.0"), Float)
    return cast(func.extract("epoch", func.clock_timestamp()), Float)


async def seconds(connection: AsyncConnection) -> float:
    """Seconds since 1970."""
    return float((await connection.execute(select(seconds_of(connection.dialect.name)))).scalar_one())


async def moment(connection: AsyncConnection) -> datetime:
    """The present moment."""
    return datetime.fromtimestamp(await seconds(connection), UTC)
