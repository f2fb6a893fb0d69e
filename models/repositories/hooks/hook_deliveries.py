"""Deliveries of events to webhooks: found when they are due, recorded attempt by attempt, kept for a while."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import delete, exists, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.errors import NotFound
from models.columns import table_of
from models.repositories.due_rows import DueRows
from models.repositories.hooks.webhook_events import delivery_of
from models.repositories.paging import Listing
from models.rows.hooks import EventDeliveryRow, HookDeliveryRow
from models.tables.hooks import HookDelivery, HookEvent
from models.typed_rows import first_of

delivery = table_of(HookDelivery)
event = table_of(HookEvent)

OPEN: Final = "open"
DELIVERED: Final = "delivered"
FAILED: Final = "failed"
DUE: Final = DueRows(delivery, delivery.c.attempts, OPEN)
"""Deliveries on their way."""

_ALL: Final = select(
    delivery,
    event.c.kind,
    event.c.uuid.label("event_uuid"),
    event.c.project_id,
    event.c.pipeline_id,
    event.c.job_id,
    event.c.user_id,
    event.c.facts,
    event.c.created_at.label("happened_at"),
).join(event, event.c.id == delivery.c.event_id)


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt to deliver, and what came back. `again` is when the next one is due; without it this was the last."""

    at: datetime
    state: str
    body: str
    request_headers: Mapping[str, str]
    status: int | None = None
    response_headers: Mapping[str, str] = field(default_factory=dict)
    response_body: str = ""
    seconds: float = 0.0
    error: str = ""
    again: datetime | None = None


async def find(connection: AsyncConnection, delivery_id: int) -> EventDeliveryRow | None:
    """A delivery with its event, or None."""
    return first_of(EventDeliveryRow, await connection.execute(_ALL.where(delivery.c.id == delivery_id)))


async def get(connection: AsyncConnection, delivery_id: int, hook_id: int) -> EventDeliveryRow:
    """A delivery of a hook. Raises `NotFound`."""
    row = await find(connection, delivery_id)
    if row is None or row.hook_id != hook_id:
        raise NotFound("Not found")
    return row


def of_hook(hook_id: int, since: datetime, statuses: range | None = None) -> Listing[EventDeliveryRow]:
    """Statement for what a hook was told since, the newest first; `statuses` are those of the answers."""
    statement = _ALL.where(delivery.c.hook_id == hook_id, delivery.c.created_at >= since)
    if statuses is not None:
        statement = statement.where(delivery.c.response_status.between(statuses.start, statuses.stop - 1))
    return Listing(statement.order_by(delivery.c.id.desc()), EventDeliveryRow)


async def wait(connection: AsyncConnection, delivery_id: int, until: datetime) -> None:
    """Nothing is tried before `until`: look at the delivery after that."""
    open_one = update(delivery).where(delivery.c.id == delivery_id, delivery.c.state == OPEN)
    await connection.execute(open_one.values(due_at=until))


async def record(connection: AsyncConnection, row: HookDeliveryRow, attempt: Attempt, slack: timedelta) -> bool:
    """Write an attempt; false if another one has ended the delivery. Its workflow is missed `slack` after it is due."""
    tried = {
        "at": attempt.at.isoformat(),
        "status": attempt.status,
        "seconds": round(attempt.seconds, 3),
        "error": attempt.error,
    }
    statement = (
        update(delivery)
        .where(delivery.c.id == row.id, delivery.c.state == OPEN)
        .values(
            state=attempt.state,
            attempts=row.attempts + 1,
            due_at=(attempt.again or attempt.at) + slack,
            body=attempt.body,
            request_headers=dict(attempt.request_headers),
            response_status=attempt.status,
            response_headers=dict(attempt.response_headers),
            response_body=attempt.response_body,
            duration=attempt.seconds,
            error=attempt.error,
            tries=[*row.tries, tried],
            attempted_at=attempt.at,
        )
    )
    return bool((await connection.execute(statement)).rowcount)


async def give_up(connection: AsyncConnection, delivery_id: int, error: str) -> None:
    """End a delivery without an attempt."""
    open_one = update(delivery).where(delivery.c.id == delivery_id, delivery.c.state == OPEN)
    await connection.execute(open_one.values(state=FAILED, error=error))


async def add(
    connection: AsyncConnection, hook_id: int, event_id: int, now: datetime, *, body: str = "", uuid: str = ""
) -> int:
    """Write a delivery that is tried once, perhaps with the body and the id of an earlier one."""
    row = delivery_of(hook_id, event_id, now, single=True) | {"body": body}
    if uuid:
        row["uuid"] = uuid
    made: int = (await connection.execute(insert(delivery).values(**row).returning(delivery.c.id))).scalar_one()
    return made


async def remove(connection: AsyncConnection, delivery_id: int) -> None:
    """Forget a delivery whose hook is gone."""
    await connection.execute(delete(delivery).where(delivery.c.id == delivery_id))


async def forget(connection: AsyncConnection, before: datetime, limit: int = 1000) -> int:
    """Remove deliveries that ended, and events that nobody hears of any more, from before `before`; how many."""
    old = select(delivery.c.id).where(delivery.c.created_at < before, delivery.c.state != OPEN).limit(limit)
    ended = await connection.execute(delete(delivery).where(delivery.c.id.in_(old)))
    unheard = ~exists().where(delivery.c.event_id == event.c.id)
    idle = select(event.c.id).where(event.c.created_at < before, unheard).limit(limit)
    done = await connection.execute(delete(event).where(event.c.id.in_(idle)))
    return int(ended.rowcount) + int(done.rowcount)
