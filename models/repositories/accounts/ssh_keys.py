"""Public SSH keys of people: kept, listed and found by their fingerprints."""

from datetime import datetime
from typing import Any

from sqlalchemy import delete, or_, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.errors import FieldsInvalid, NotFound
from models.columns import table_of
from models.repositories.paging import Listing
from models.rows.ssh_keys import SshKeyRow
from models.tables.ssh_keys import SshKey
from models.typed_rows import first_of

ssh_key = table_of(SshKey)

_INSERT = {
    "postgresql": postgresql.insert(ssh_key).on_conflict_do_nothing(),
    "sqlite": sqlite.insert(ssh_key).on_conflict_do_nothing(),
}


def of_person(user_id: int) -> Listing[SshKeyRow]:
    """Statement for the keys of a person, the oldest first."""
    return Listing(select(ssh_key).where(ssh_key.c.user_id == user_id).order_by(ssh_key.c.id), SshKeyRow)


async def get(connection: AsyncConnection, key_id: int, user_id: int | None = None) -> SshKeyRow:
    """A key, of one person or of anybody. Raises `NotFound`."""
    statement = select(ssh_key).where(ssh_key.c.id == key_id)
    if user_id is not None:
        statement = statement.where(ssh_key.c.user_id == user_id)
    row = first_of(SshKeyRow, await connection.execute(statement))
    if row is None:
        raise NotFound("Key Not Found")
    return row


async def by_fingerprint(connection: AsyncConnection, sha256: str, md5: str) -> SshKeyRow:
    """The key with one of these fingerprints. Raises `NotFound`."""
    rule = or_(ssh_key.c.sha256 == sha256, ssh_key.c.md5 == md5)
    statement = select(ssh_key).where(rule).order_by(ssh_key.c.id).limit(1)
    row = first_of(SshKeyRow, await connection.execute(statement))
    if row is None:
        raise NotFound("Key Not Found")
    return row


async def add(connection: AsyncConnection, now: datetime, **values: Any) -> SshKeyRow:
    """Keep a key: all columns but `id` and `created_at`. Raises `Invalid` where somebody has it already."""
    statement = _INSERT[connection.dialect.name].values(created_at=now, **values).returning(ssh_key)
    row = first_of(SshKeyRow, await connection.execute(statement))
    if row is None:
        raise FieldsInvalid(fingerprint_sha256="has already been taken: a key is kept once, with one person.")
    return row


async def remove(connection: AsyncConnection, key_id: int) -> None:
    """Forget a key."""
    await connection.execute(delete(ssh_key).where(ssh_key.c.id == key_id))
