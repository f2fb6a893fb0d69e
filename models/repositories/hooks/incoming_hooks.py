"""Webhooks that forges call, and what came by them."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import delete, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.errors import NotFound
from models.columns import table_of
from models.repositories.paging import Listing
from models.repositories.pipelines.pipeline_requests import OwedPipelines
from models.rows.incoming_hooks import IncomingDeliveryRow, IncomingHookRow
from models.tables.incoming_hooks import IncomingDelivery, IncomingHook
from models.typed_rows import first_of

hook = table_of(IncomingHook)
delivery = table_of(IncomingDelivery)


def purpose(project_id: int) -> str:
    """What the secret of a hook is sealed for."""
    return f"incoming_hook:{project_id}"


def of_project(project_id: int) -> Listing[IncomingHookRow]:
    """Statement for the hooks of a project, by id."""
    return Listing(select(hook).where(hook.c.project_id == project_id).order_by(hook.c.id), IncomingHookRow)


async def get(connection: AsyncConnection, hook_id: int, project_id: int) -> IncomingHookRow:
    """A hook of a project. Raises `NotFound`."""
    statement = select(hook).where(hook.c.project_id == project_id, hook.c.id == hook_id)
    row = first_of(IncomingHookRow, await connection.execute(statement))
    if row is None:
        raise NotFound("Hook Not Found")
    return row


async def find(connection: AsyncConnection, hook_id: int) -> IncomingHookRow | None:
    """A hook by id, or None."""
    return first_of(IncomingHookRow, await connection.execute(select(hook).where(hook.c.id == hook_id)))


async def add(connection: AsyncConnection, now: datetime, **values: Any) -> int:
    """Set up a hook."""
    statement = insert(hook).values(created_at=now, **values).returning(hook.c.id)
    made: int = (await connection.execute(statement)).scalar_one()
    return made


async def change(connection: AsyncConnection, hook_id: int, **values: Any) -> None:
    """Write columns of a hook."""
    await connection.execute(update(hook).where(hook.c.id == hook_id).values(**values))


async def remove(connection: AsyncConnection, hook_id: int) -> None:
    """Remove a hook and what came by it."""
    await connection.execute(delete(delivery).where(delivery.c.hook_id == hook_id))
    await connection.execute(delete(hook).where(hook.c.id == hook_id))


async def note(connection: AsyncConnection, hook_id: int, delivery_id: str, now: datetime, **values: Any) -> bool:
    """Keep a call; false if it has come before. The hook's row is held, so that two of the same are told apart."""
    await connection.execute(update(hook).where(hook.c.id == hook_id).values(last_delivery_at=now))
    same = delivery.c.delivery_id == delivery_id
    if values.get("body_digest") is not None:
        same = or_(same, delivery.c.body_digest == values["body_digest"])
    known = select(delivery.c.id).where(delivery.c.hook_id == hook_id, same)
    if (await connection.execute(known)).first() is not None:
        return False
    row = {"hook_id": hook_id, "delivery_id": delivery_id, "created_at": now, "not_before": now, **values}
    await connection.execute(insert(delivery).values(**row))
    return True


@dataclass(frozen=True, slots=True)
class OwedDelivery(IncomingDeliveryRow):
    """A call that owes a pipeline: `project_id` and `user_id` are those of its hook."""

    project_id: int
    user_id: int


OWED: Final = OwedPipelines(
    delivery,
    Listing(
        select(delivery, hook.c.project_id, hook.c.user_id).join(hook, hook.c.id == delivery.c.hook_id), OwedDelivery
    ),
    longest_pause=timedelta(minutes=1),
)
"""Calls whose pipeline is to be made."""
