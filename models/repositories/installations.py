"""The installation: one row that says whose database this is, and where its ids begin."""

from datetime import datetime
from uuid import uuid4

from sqlalchemy import insert, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlmodel import SQLModel

from domain.errors import Invalid
from models.columns import Record, table_of
from models.tables import Installation

installation = table_of(Installation)

BLOCK = 2**40
"""Ids of a pod: so many, beginning at its number times this (design, "Ids")."""

_ONE_AT_A_TIME = 7_061_971
"""Key of the PostgreSQL advisory lock that makes processes which start together take turns."""


async def ensure(connection: AsyncConnection, pod: str, pod_number: int, now: datetime) -> Record:
    """Make the installation row at the first start; refuse a database of another pod.

    Until the caller's transaction ends no other process gets past this: what it makes next is made once as well.
    """
    if connection.dialect.name == "postgresql":
        await connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _ONE_AT_A_TIME})
    row = (await connection.execute(select(installation))).first()
    if row is None:
        await connection.execute(
            insert(installation).values(
                id=1, installation_id=str(uuid4()), pod=pod, registration_token_hash="", sealed_check="", created_at=now
            )
        )
        await _begin_ids(connection, pod_number)
        row = (await connection.execute(select(installation))).one()
    if row.pod != pod:
        raise Invalid(
            f"This database belongs to pod {row.pod}, not to {pod}; check PERDURE_DATABASE_URL and PERDURE_POD."
        )
    return row


async def find(connection: AsyncConnection) -> Record | None:
    """The installation; None before its first start."""
    return (await connection.execute(select(installation))).first()


async def keep_check(connection: AsyncConnection, sealed: str) -> None:
    """Keep what only the right key for secrets opens."""
    await connection.execute(update(installation).values(sealed_check=sealed))


async def temporal_agrees(connection: AsyncConnection) -> None:
    """Temporal was brought to what a restored database says."""
    await connection.execute(update(installation).values(restored_at=None))


async def _begin_ids(connection: AsyncConnection, pod_number: int) -> None:
    first = pod_number * BLOCK
    for table in SQLModel.metadata.sorted_tables:
        if not first or not table.kwargs.get("sqlite_autoincrement"):
            continue
        if connection.dialect.name == "sqlite":
            await connection.execute(
                text("INSERT INTO sqlite_sequence (name, seq) VALUES (:name, :seq)"), {"name": table.name, "seq": first}
            )
        else:
            await connection.execute(text(f'ALTER SEQUENCE "{table.name}_id_seq" RESTART WITH {first + 1}'))
