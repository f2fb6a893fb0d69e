"""Webhooks that forges call, and what came by them."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Select, delete, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.errors import NotFound
from models.columns import Record, table_of
from models.incoming_hooks import IncomingDelivery, IncomingHook

hook = table_of(IncomingHook)
delivery = table_of(IncomingDelivery)

_LONGEST_PAUSE: Final = timedelta(minutes=1)


def purpose(project_id: int) -> str:
    """What the secret of a hook is sealed for."""
    return f"incoming_hook:{project_id}"


def of_project(project_id: int) -> Select[Any]:
    """Statement for the hooks of a project, by id."""
    return select(hook).where(hook.c.project_id == project_id).order_by(hook.c.id)


async def get(connection: AsyncConnection, hook_id: int, project_id: int) -> Record:
    """A hook of a project. Raises `NotFound`."""
    row = (await connection.execute(of_project(project_id).where(hook.c.id == hook_id))).first()
    if row is None:
        raise NotFound("404 Hook Not Found")
    return row


async def find(connection: AsyncConnection, hook_id: int) -> Record | None:
    """A hook by id, or None."""
    return (await connection.execute(select(hook).where(hook.c.id == hook_id))).first()


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


def _due(now: datetime) -> Any:
    return delivery.c.done_at.is_(None) & (delivery.c.not_before <= now)


async def is_due(connection: AsyncConnection, now: datetime) -> bool:
    """Whether there is anything to hold."""
    return (await connection.execute(select(delivery.c.id).where(_due(now)).limit(1))).first() is not None


async def hold_due(connection: AsyncConnection, now: datetime, until: datetime, limit: int) -> Sequence[Record]:
    """Calls that want a pipeline, with `project_id` and `user_id` of their hooks; others leave them until `until`."""
    statement = (
        select(delivery, hook.c.project_id, hook.c.user_id)
        .join(hook, hook.c.id == delivery.c.hook_id)
        .where(_due(now))
        .order_by(delivery.c.id)
        .limit(limit)
        .with_for_update(skip_locked=True, of=delivery)
    )
    rows = (await connection.execute(statement)).all()
    if rows:
        rule = delivery.c.id.in_([row.id for row in rows])
        await connection.execute(update(delivery).where(rule).values(not_before=until))
    return rows


async def finish(connection: AsyncConnection, delivery_id: int, now: datetime) -> bool:
    """Take a call, in the transaction that makes its pipeline; false if that has been done."""
    rule = (delivery.c.id == delivery_id) & delivery.c.done_at.is_(None)
    return bool((await connection.execute(update(delivery).where(rule).values(done_at=now))).rowcount)


async def tell(
    connection: AsyncConnection, delivery_id: int, *, pipeline_id: int | None = None, error: str = ""
) -> None:
    """Write down what became of a call."""
    values = {"pipeline_id": pipeline_id, "error": error[:1000]}
    await connection.execute(update(delivery).where(delivery.c.id == delivery_id).values(**values))


async def back_off(connection: AsyncConnection, row: Record, error: str, now: datetime) -> None:
    """Look at a call again later: after 1 s, 2 s ... a minute."""
    pause = min(timedelta(seconds=2 ** min(row.attempts, 10)), _LONGEST_PAUSE)
    values = {"attempts": row.attempts + 1, "error": error[:1000], "not_before": now + pause}
    rule = (delivery.c.id == row.id) & delivery.c.done_at.is_(None)
    await connection.execute(update(delivery).where(rule).values(**values))
