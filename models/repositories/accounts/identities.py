"""Accounts by who their people are at a provider."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime

from sqlalchemy import insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from models.columns import table_of
from models.repositories.accounts.accounts import user
from models.rows.accounts import UserRow
from models.rows.identities import IdentityRow
from models.tables.identities import Identity
from models.typed_rows import all_of, first_of

identity = table_of(Identity)


async def person_of(connection: AsyncConnection, issuer: str, subject: str) -> UserRow | None:
    """The account of somebody at a provider, in whatever state; or None."""
    statement = (
        select(user)
        .join(identity, identity.c.user_id == user.c.id)
        .where(identity.c.issuer == issuer, identity.c.subject == subject)
    )
    return first_of(UserRow, await connection.execute(statement))


async def add(connection: AsyncConnection, user_id: int, issuer: str, subject: str, now: datetime) -> None:
    """Say whose account somebody at a provider has."""
    values = {"user_id": user_id, "issuer": issuer, "subject": subject, "created_at": now}
    await connection.execute(insert(identity).values(**values))


async def of_people(connection: AsyncConnection, user_ids: Iterable[int]) -> dict[int, Sequence[IdentityRow]]:
    """The identities of each of these people who has any."""
    statement = select(identity).where(identity.c.user_id.in_(list(user_ids))).order_by(identity.c.id)
    found: dict[int, list[IdentityRow]] = defaultdict(list)
    for row in all_of(IdentityRow, await connection.execute(statement)):
        found[row.user_id].append(row)
    return dict(found)
