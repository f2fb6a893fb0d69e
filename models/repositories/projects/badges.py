"""Badges of projects and groups."""

from datetime import datetime
from typing import Any

from sqlalchemy import delete, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.errors import NotFound
from models.columns import table_of
from models.repositories.namespaces.planning_owners import PlanningOwner
from models.repositories.paging import Listing
from models.rows.badges import BadgeRow
from models.tables.badges import Badge
from models.typed_rows import first_of, one_of

badge = table_of(Badge)


def listed(owner: PlanningOwner, name: str = "") -> Listing[BadgeRow]:
    """Statement for the badges that an owner shows, the oldest first: a project also those of the groups around it."""
    statement = select(badge).where(owner.seen(badge, ancestors=owner.project_id is not None)).order_by(badge.c.id)
    return Listing(statement.where(badge.c.name == name) if name else statement, BadgeRow)


async def find(connection: AsyncConnection, owner: PlanningOwner, key: int) -> BadgeRow:
    """One badge that an owner shows. Raises `NotFound`."""
    row = first_of(BadgeRow, await connection.execute(listed(owner).statement.where(badge.c.id == key)))
    if row is None:
        raise NotFound("Badge Not Found")
    return row


async def add(connection: AsyncConnection, owner: PlanningOwner, now: datetime, **values: Any) -> BadgeRow:
    """Add a badge; its row."""
    statement = insert(badge).values(created_at=now, **owner.columns, **values)
    return one_of(BadgeRow, await connection.execute(statement.returning(badge)))


async def change(connection: AsyncConnection, key: int, **values: Any) -> BadgeRow:
    """Write columns of a badge; its row."""
    statement = update(badge).where(badge.c.id == key).values(**values)
    return one_of(BadgeRow, await connection.execute(statement.returning(badge)))


async def remove(connection: AsyncConnection, key: int) -> None:
    """Remove a badge."""
    await connection.execute(delete(badge).where(badge.c.id == key))
