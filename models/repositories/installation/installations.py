"""The installation: one row that says whose database this is, and where its ids begin."""

from datetime import datetime
from typing import Any, Final
from uuid import uuid4

from sqlalchemy import func, insert, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.pods.directory import BLOCK_BITS
from domain.pods.identity import PodIdentity, of_known_pod, of_new_pod
from models.columns import table_of
from models.rows.installation import InstallationRow
from models.schema import METADATA
from models.tables.installation import Installation
from models.typed_rows import first_of, one_of

installation = table_of(Installation)

HELD: Final = func.coalesce(select(installation.c.held_up_to).scalar_subquery(), 0)
"""The last pipeline that stands still because this is a copy of another installation."""

BLOCK: Final = 1 << BLOCK_BITS
"""Ids of a pod: so many, beginning at its number times this (docs/seam.md, "Ids")."""

_ONE_AT_A_TIME = 7_061_971
"""Key of the PostgreSQL advisory lock that makes processes which start together take turns."""


async def ensure(connection: AsyncConnection, given: PodIdentity, now: datetime) -> InstallationRow:
    """Make the installation row at the first start; refuse a database of another pod (`domain.pods.identity`).

    Until the caller's transaction ends no other process gets past this: what it makes next is made once as well.
    """
    if connection.dialect.name == "postgresql":
        await connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _ONE_AT_A_TIME})
    row = await find(connection)
    if row is None:
        mine = of_new_pod(given)
        begun = {"id": 1, "installation_id": str(uuid4()), "registration_token_hash": "", "sealed_check": ""}
        statement = insert(installation).values(**begun, **_columns(mine), pod=mine.name, created_at=now)
        row = one_of(InstallationRow, await connection.execute(statement.returning(installation)))
    else:
        mine = of_known_pod(identity_of(row), given, is_restored=row.restored_at is not None)
        if mine != identity_of(row):
            changed = update(installation).values(**_columns(mine)).returning(installation)
            row = one_of(InstallationRow, await connection.execute(changed))
    await _begin_ids(connection, mine.number or 0)
    return row


def identity_of(row: InstallationRow) -> PodIdentity:
    """What the database says of its pod; parts that it was not told yet are empty."""
    return PodIdentity(row.pod, row.pod_number, row.temporal_namespace, row.task_queue)


async def kept_identity(connection: AsyncConnection) -> PodIdentity | None:
    """The same of a database that may be of an earlier version; None before its first start."""
    row = (await connection.execute(text("SELECT * FROM installation"))).mappings().first()
    if row is None:
        return None
    parts = row.get("pod_number"), row.get("temporal_namespace", ""), row.get("task_queue", "")
    return PodIdentity(row["pod"], *parts)


def _columns(mine: PodIdentity) -> dict[str, Any]:
    return {"pod_number": mine.number, "temporal_namespace": mine.namespace, "task_queue": mine.task_queue}


async def find(connection: AsyncConnection) -> InstallationRow | None:
    """The installation; None before its first start."""
    return first_of(InstallationRow, await connection.execute(select(installation)))


async def promote(connection: AsyncConnection, now: datetime) -> None:
    """A copy takes the place of what it was made of: its pipelines go on, from what SQL says."""
    await connection.execute(update(installation).values(held_up_to=None, restored_at=now))


async def keep_check(connection: AsyncConnection, sealed: str) -> None:
    """Keep what only the right key for secrets opens."""
    await connection.execute(update(installation).values(sealed_check=sealed))


async def temporal_agrees(connection: AsyncConnection) -> None:
    """Temporal was brought to what a restored database says."""
    await connection.execute(update(installation).values(restored_at=None))


async def last_ids(connection: AsyncConnection) -> dict[str, int]:
    """The last id that each table has given, by its name; a table that has given none may be missing."""
    if connection.dialect.name == "sqlite":
        statement = "SELECT name, seq AS last FROM sqlite_sequence"
    else:
        statement = "SELECT sequencename AS name, last_value AS last FROM pg_sequences WHERE schemaname = 'public'"
    return {name.removesuffix("_id_seq"): last or 0 for name, last in await connection.execute(text(statement))}


async def continue_after(connection: AsyncConnection, name: str, last: int) -> None:
    """The next id of a table is the one after `last`."""
    values: dict[str, Any] = {"name": name, "last": last}
    if connection.dialect.name == "sqlite":
        await connection.execute(text("DELETE FROM sqlite_sequence WHERE name = :name"), {"name": name})
        await connection.execute(text("INSERT INTO sqlite_sequence (name, seq) VALUES (:name, :last)"), values)
    else:
        await connection.execute(text("SELECT setval(:name, :last)"), {"name": f"{name}_id_seq", "last": last})


async def _begin_ids(connection: AsyncConnection, pod_number: int) -> None:
    """Let ids begin at the pod's block, also those of tables that a later version has added."""
    first = pod_number * BLOCK
    if not first:
        return
    known = await last_ids(connection)
    for table in METADATA.sorted_tables:
        if table.kwargs.get("sqlite_autoincrement") and known.get(table.name, 0) < first:
            await continue_after(connection, table.name, first)
