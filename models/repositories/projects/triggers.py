"""Trigger tokens."""

from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, delete, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.errors import NotFound
from models.columns import table_of
from models.repositories.accounts.accounts import is_chain_good
from models.repositories.paging import Listing
from models.rows.triggers import PipelineTriggerRow
from models.tables.triggers import PipelineTrigger
from models.typed_rows import first_of

trigger = table_of(PipelineTrigger)


def of_project(project_id: int) -> Listing[PipelineTriggerRow]:
    """Statement for the triggers of a project, by id."""
    statement = select(trigger).where(trigger.c.project_id == project_id).order_by(trigger.c.id)
    return Listing(statement, PipelineTriggerRow)


async def get(connection: AsyncConnection, trigger_id: int, project_id: int) -> PipelineTriggerRow:
    """A trigger of a project. Raises `NotFound`."""
    statement = of_project(project_id).statement.where(trigger.c.id == trigger_id)
    row = first_of(PipelineTriggerRow, await connection.execute(statement))
    if row is None:
        raise NotFound("Trigger Not Found")
    return row


async def add(connection: AsyncConnection, project_id: int, owner_id: int, now: datetime, **values: Any) -> int:
    """Keep a new trigger: `description`, `token_hash`, `short_token`, `expires_at`, `names_pod`, `maker_id`."""
    row = {"project_id": project_id, "owner_id": owner_id, "created_at": now, "updated_at": now, **values}
    made: int = (await connection.execute(insert(trigger).values(**row).returning(trigger.c.id))).scalar_one()
    return made


async def describe(connection: AsyncConnection, trigger_id: int, description: str, now: datetime) -> None:
    """Call a trigger otherwise."""
    values = {"description": description, "updated_at": now}
    await connection.execute(update(trigger).where(trigger.c.id == trigger_id).values(**values))


async def remove(connection: AsyncConnection, trigger_id: int) -> None:
    """Forget a trigger: its token is worth nothing from now on."""
    await connection.execute(delete(trigger).where(trigger.c.id == trigger_id))


async def by_token(
    connection: AsyncConnection, project_id: int, token_hash: str, now: datetime
) -> PipelineTriggerRow | None:
    """The trigger of this project behind a token that has not expired, or None."""
    rule = (trigger.c.project_id == project_id) & (trigger.c.token_hash == token_hash)
    row = first_of(PipelineTriggerRow, await connection.execute(select(trigger).where(rule, has_not_expired(now))))
    return row if row is not None and await is_chain_good(connection, row.maker_id) else None


def has_not_expired(now: datetime) -> ColumnElement[bool]:
    """Whether a trigger's token is still good."""
    return or_(trigger.c.expires_at.is_(None), trigger.c.expires_at > now)


async def note_use(connection: AsyncConnection, trigger_id: int, now: datetime) -> None:
    """Remember when a token was used last."""
    await connection.execute(update(trigger).where(trigger.c.id == trigger_id).values(last_used_at=now))
