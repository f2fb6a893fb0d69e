"""Badges of projects and groups."""

from datetime import datetime
from typing import Any

from sqlalchemy import Select, delete, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.errors import NotFound
from models.columns import Record, table_of
from models.repositories.namespaces.owners import Owner
from models.tables.badges import Badge

badge = table_of(Badge)


def listed(owner: Owner, name: str = "") -> Select[Any]:
    """Statement for the badges that an owner shows, the oldest first: a project also those of the groups around it."""
    statement = select(badge).where(owner.seen(badge, ancestors=owner.project_id is not None)).order_by(badge.c.id)
    return statement.where(badge.c.name == name) if name else statement


async def find(connection: AsyncConnection, owner: Owner, key: int) -> Record:
    """One badge that an owner shows. Raises `NotFound`."""
    row = (await connection.execute(listed(owner).where(badge.c.id == key))).first()
    if row is None:
        raise NotFound("404 Badge Not Found")
    return row


async def add(connection: AsyncConnection, owner: Owner, now: datetime, **values: Any) -> Record:
    """Add a badge; its row."""
    statement = insert(badge).values(created_at=now, **owner.columns, **values)
    return (await connection.execute(statement.returning(badge))).one()


async def change(connection: AsyncConnection, key: int, **values: Any) -> Record:
    """Write columns of a badge; its row."""
    statement = update(badge).where(badge.c.id == key).values(**values)
    return (await connection.execute(statement.returning(badge))).one()


async def remove(connection: AsyncConnection, key: int) -> None:
    """Remove a badge."""
    await connection.execute(delete(badge).where(badge.c.id == key))
