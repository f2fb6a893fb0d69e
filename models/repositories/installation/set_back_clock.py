"""What waits for a time does not wait longer because the clock was set back meanwhile."""

from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import Column, Table, update
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlmodel import SQLModel

from models.columns import table_of
from models.tables.hooks import CommitReport, Hook, HookDelivery
from models.tables.incoming_hooks import IncomingDelivery
from models.tables.merge_requests import MergeRequestEvent
from models.tables.mirrors import Mirror
from models.tables.notifications import Message, Notice
from models.tables.outbox import Outbox
from models.tables.schedules import ScheduleTick
from models.tables.subscriptions import SubscribedRun
from models.tables.visits import BroughtVisitor, Visit

SOON: Final = timedelta(minutes=1)
"""Not at once: for so long a process holds what it is at work on (`loops.due_rows.HELD`)."""
HANDED_OVER: Final = timedelta(minutes=10)
"""A message is held for as long as the receiver may take, and two must not hand it over."""

WAITS: Final[tuple[tuple[type[SQLModel], str, timedelta], ...]] = (
    (Outbox, "not_before", SOON),
    (MergeRequestEvent, "not_before", SOON),
    (IncomingDelivery, "not_before", SOON),
    (SubscribedRun, "not_before", SOON),
    (ScheduleTick, "not_before", SOON),
    (HookDelivery, "due_at", SOON),
    (CommitReport, "due_at", SOON),
    (Notice, "due_at", SOON),
    (Message, "due_at", SOON),
    (Message, "held_until", HANDED_OVER),
    (Mirror, "next_at", SOON),
    (Mirror, "held_until", SOON),
    (Hook, "disabled_until", SOON),
    (Visit, "tell_after", SOON),
    (BroughtVisitor, "tell_after", SOON),
)
"""Times that only say when something is tried (again), and how far from now they are at most when the clock was set."""


async def bring_back(connection: AsyncConnection, now: datetime) -> int:
    """Let everything that waits be tried soon; how many rows there were.

    They were written with the clock of before, so nobody knows when they were meant. To try early does no harm.
    """
    changed = 0
    for model, name, longest in WAITS:
        table: Table = table_of(model)
        column: Column[datetime] = table.c[name]
        late = update(table).where(column > now + longest).values({name: now + longest})
        changed += (await connection.execute(late)).rowcount
    return changed
