"""Messages on their way: found when they are due, recorded attempt by attempt, kept for a while."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import uuid4

from sqlalchemy import insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.notifications.integrations import Channel
from models.columns import table_of
from models.repositories.due_rows import DueRows
from models.rows.notifications import MessageRow, NoticedMessageRow
from models.tables.notifications import Message, Notice
from models.typed_rows import all_of, first_of

message = table_of(Message)
notice = table_of(Notice)

OPEN: Final = "open"
DELIVERED: Final = "delivered"
FAILED: Final = "failed"
DUE: Final = DueRows(message, message.c.attempts, OPEN)
"""Messages on their way."""

_ALL: Final = select(message, notice.c.kind, notice.c.project_id, notice.c.created_at.label("happened_at")).join(
    notice, notice.c.id == message.c.notice_id
)


_CUT_OFF: Final = {
    "status": None,
    "seconds": 0.0,
    "error": "The attempt before was cut off; the receiver may have it twice, with the same Message-ID.",
}


@dataclass(frozen=True, slots=True)
class Draft:
    """A message before it is written; `body` is sealed."""

    channel: Channel
    uuid: str
    body: str
    single: bool = False


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt to send, and what came back. `again` is when the next one is due; without it this was the last."""

    at: datetime
    state: str
    status: int | None = None
    reply: str = ""
    error: str = ""
    seconds: float = 0.0
    again: datetime | None = None


def new_uuid() -> str:
    """What a message is known by; it becomes the Message-ID."""
    return str(uuid4())


async def add(connection: AsyncConnection, notice_id: int, drafts: Sequence[Draft], now: datetime) -> None:
    """Write messages of a notice, in the transaction that closes it."""
    if drafts:
        await connection.execute(insert(message), [_row_of(notice_id, draft, now) for draft in drafts])


async def add_one(connection: AsyncConnection, notice_id: int, draft: Draft, now: datetime) -> int:
    """Write one message; its id."""
    statement = insert(message).values(**_row_of(notice_id, draft, now)).returning(message.c.id)
    made: int = (await connection.execute(statement)).scalar_one()
    return made


def _row_of(notice_id: int, draft: Draft, now: datetime) -> dict[str, Any]:
    channel = draft.channel
    return {
        "notice_id": notice_id,
        "channel": channel.kind,
        "recipient": channel.key,
        "account_id": channel.account_id,
        "integration_id": channel.integration_id,
        "address": channel.address,
        "uuid": draft.uuid,
        "state": OPEN,
        "single": draft.single,
        "attempts": 0,
        "due_at": now,
        "body": draft.body,
        "reply": "",
        "error": "",
        "tries": [],
        "created_at": now,
    }


async def find(connection: AsyncConnection, message_id: int) -> NoticedMessageRow | None:
    """A message with what it is about, or None."""
    return first_of(NoticedMessageRow, await connection.execute(_ALL.where(message.c.id == message_id)))


async def of_integration(connection: AsyncConnection, integration_id: int, most: int) -> Sequence[NoticedMessageRow]:
    """The newest messages of an integration."""
    statement = _ALL.where(message.c.integration_id == integration_id).order_by(message.c.id.desc()).limit(most)
    return all_of(NoticedMessageRow, await connection.execute(statement))


async def hold(connection: AsyncConnection, row: MessageRow, now: datetime, until: datetime) -> bool:
    """Be the only one to hand a message over until then; false if somebody else does, or it has ended."""
    is_free = message.c.held_until.is_(None) | (message.c.held_until <= now)
    statement = update(message).where(message.c.id == row.id, message.c.state == OPEN, is_free)
    return bool((await connection.execute(statement.values(held_until=until))).rowcount)


async def record(connection: AsyncConnection, row: MessageRow, attempt: Attempt, slack: timedelta) -> bool:
    """Write an attempt; false if another one has ended the message. Its workflow is missed `slack` after it is due."""
    cut_off = [] if row.held_until is None else [{"at": row.held_until.isoformat(), **_CUT_OFF}]
    tried = {
        "at": attempt.at.isoformat(),
        "status": attempt.status,
        "seconds": round(attempt.seconds, 3),
        "error": attempt.error,
    }
    statement = (
        update(message)
        .where(message.c.id == row.id, message.c.state == OPEN)
        .values(
            state=attempt.state,
            attempts=row.attempts + 1,
            due_at=(attempt.again or attempt.at) + slack,
            held_until=None,
            status=attempt.status,
            reply=attempt.reply,
            error=attempt.error,
            tries=[*row.tries, *cut_off, tried],
            attempted_at=attempt.at,
        )
    )
    return bool((await connection.execute(statement)).rowcount)


async def give_up(connection: AsyncConnection, message_id: int, error: str) -> None:
    """End a message without an attempt."""
    open_one = update(message).where(message.c.id == message_id, message.c.state == OPEN)
    await connection.execute(open_one.values(state=FAILED, error=error))


async def end_of(connection: AsyncConnection, integration_id: int, error: str) -> None:
    """End all open messages of an integration."""
    open_ones = update(message).where(message.c.integration_id == integration_id, message.c.state == OPEN)
    await connection.execute(open_ones.values(state=FAILED, error=error))
