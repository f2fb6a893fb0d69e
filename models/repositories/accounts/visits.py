"""Visits between pods: who of this pod went where, and who came here with which ticket (`domain.pods.visits`)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import and_, delete, func, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from models.columns import table_of
from models.repositories.accounts.accounts import ACTIVE, user
from models.rows.accounts import UserRow
from models.rows.visits import VisitRow
from models.tables.visits import UsedTicket, Visit
from models.typed_rows import all_of, first_of

visit = table_of(Visit)
used_ticket = table_of(UsedTicket)

_INSERT: Final[dict[str, Any]] = {"postgresql": postgresql.insert, "sqlite": sqlite.insert}


async def note_ticket(connection: AsyncConnection, user_id: int, pod_number: int, now: datetime) -> None:
    """Remember that a person got a ticket for another pod."""
    values = {"user_id": user_id, "pod_number": pod_number, "last_ticket_at": now}
    statement = _INSERT[connection.dialect.name](visit).values(**values)
    keys = ["user_id", "pod_number"]
    await connection.execute(statement.on_conflict_do_update(index_elements=keys, set_={"last_ticket_at": now}))


async def of_person(connection: AsyncConnection, user_id: int) -> Sequence[VisitRow]:
    """The pods that a person got tickets for, by number; when they got the last one."""
    statement = select(visit).where(visit.c.user_id == user_id).order_by(visit.c.pod_number)
    return all_of(VisitRow, await connection.execute(statement))


@dataclass(frozen=True, slots=True)
class UntoldVisit:
    """That a pod which a person has visited is to hear whether they are blocked."""

    user_id: int
    pod_number: int
    state: str


async def untold(connection: AsyncConnection, now: datetime, limit: int) -> Sequence[UntoldVisit]:
    """Visited pods that have not heard of a block, or of its end; those that are to hear again, too.

    Of a block they hear again and again: what was told may have been lost with a backup, or undone there.
    """
    is_blocked = user.c.state != ACTIVE
    is_due = or_(visit.c.tell_after.is_(None), visit.c.tell_after <= now)
    statement = (
        select(visit.c.user_id, visit.c.pod_number, user.c.state)
        .join(user, user.c.id == visit.c.user_id)
        .where(or_(is_blocked, visit.c.told_blocked), is_due)
        .order_by(visit.c.tell_after.nulls_first(), visit.c.user_id)
        .limit(limit)
    )
    return all_of(UntoldVisit, await connection.execute(statement))


async def note_told(
    connection: AsyncConnection, one: UntoldVisit, tell_after: datetime | None, *, is_blocked: bool
) -> bool:
    """A pod has heard of a person's state, or may have; False if it is another by now, of which it hears later."""
    same = select(user.c.id).where(user.c.id == one.user_id, user.c.state == one.state)
    rule = and_(visit.c.user_id.in_(same), visit.c.pod_number == one.pod_number)
    statement = update(visit).where(rule).values(told_blocked=is_blocked, tell_after=tell_after)
    return bool((await connection.execute(statement)).rowcount)


async def tell_later(connection: AsyncConnection, one: UntoldVisit, tell_after: datetime) -> None:
    """A pod could not be told."""
    rule = and_(visit.c.user_id == one.user_id, visit.c.pod_number == one.pod_number)
    await connection.execute(update(visit).where(rule).values(tell_after=tell_after))


async def tell_now(connection: AsyncConnection, user_id: int) -> None:
    """The pods that a person has visited are to hear of their state at once."""
    await connection.execute(update(visit).where(visit.c.user_id == user_id).values(tell_after=None))


async def use_ticket(connection: AsyncConnection, ticket_id: str, expires_at: datetime, now: datetime) -> bool:
    """Take a ticket; False for one that was taken before. Those that nobody would take any more are forgotten."""
    await connection.execute(delete(used_ticket).where(used_ticket.c.expires_at < now))
    statement = _INSERT[connection.dialect.name](used_ticket).values(ticket_id=ticket_id, expires_at=expires_at)
    return bool((await connection.execute(statement.on_conflict_do_nothing())).rowcount)


async def by_home(connection: AsyncConnection, home_pod: int, home_id: int) -> UserRow | None:
    """The row of a visitor who has been here, by who they are at home; or None."""
    rule = (user.c.home_pod == home_pod) & (user.c.home_id == home_id)
    return first_of(UserRow, await connection.execute(select(user).where(rule)))


async def by_name(connection: AsyncConnection, username: str) -> UserRow | None:
    """Whoever has this name in letters of any size, as pods compare names; or None."""
    statement = select(user).where(func.lower(user.c.username) == username.lower(), ~user.c.bot).order_by(user.c.id)
    return first_of(UserRow, await connection.execute(statement))


async def add(connection: AsyncConnection, username: str, now: datetime, **values: Any) -> int | None:
    """Add the row of a visitor, whose `home_pod` is among the values; None where somebody has the name already."""
    row = {"username": username, "is_admin": False, "bot": False, "created_at": now, **values}
    statement = _INSERT[connection.dialect.name](user).values(**row)
    added = await connection.execute(statement.on_conflict_do_nothing().returning(user.c.id))
    found: int | None = added.scalar_one_or_none()
    return found
