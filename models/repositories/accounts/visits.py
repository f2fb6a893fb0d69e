"""Visits between pods: who of this pod went where, and who came here with which ticket (`domain.pods.visits`)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, and_, delete, func, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from models.columns import table_of
from models.repositories.accounts.accounts import ACTIVE, user
from models.rows.accounts import UserRow
from models.rows.visits import BroughtVisitorRow, VisitRow
from models.tables.visits import BroughtVisitor, UsedTicket, Visit
from models.typed_rows import all_of, first_of

visit = table_of(Visit)
used_ticket = table_of(UsedTicket)
brought = table_of(BroughtVisitor)

_INSERT: Final[dict[str, Any]] = {"postgresql": postgresql.insert, "sqlite": sqlite.insert}


async def note_ticket(connection: AsyncConnection, user_id: int, pod_number: int, now: datetime) -> None:
    """Remember that a person got a ticket for another pod."""
    values = {"user_id": user_id, "pod_number": pod_number, "last_ticket_at": now}
    statement = _INSERT[connection.dialect.name](visit).values(**values)
    keys = ["user_id", "pod_number"]
    await connection.execute(statement.on_conflict_do_update(index_elements=keys, set_={"last_ticket_at": now}))


async def note_brought(connection: AsyncConnection, user_ids: Sequence[int], pod_number: int, now: datetime) -> None:
    """Remember that a move has brought to another pod what is these people's; who got a ticket for it stays so.

    Their rows may be there with the state that they had: it hears at once what that is now, blocked or not.
    """
    if user_ids:
        same = {"pod_number": pod_number, "last_ticket_at": now, "told_blocked": True}
        values = [{"user_id": each, **same} for each in user_ids]
        await connection.execute(_INSERT[connection.dialect.name](visit).on_conflict_do_nothing(), values)


async def bring(
    connection: AsyncConnection, at_home: Sequence[tuple[int, int]], pod_number: int, now: datetime
) -> None:
    """Likewise of visitors, whose homes are to hear of it; each is given by the pod of home, and their id there."""
    if at_home:
        values = [
            {"home_pod": pod, "home_id": each, "pod_number": pod_number, "moved_at": now} for pod, each in at_home
        ]
        await connection.execute(_INSERT[connection.dialect.name](brought).on_conflict_do_nothing(), values)


async def brought_due(connection: AsyncConnection, now: datetime, limit: int) -> Sequence[BroughtVisitorRow]:
    """Visitors of whom their homes are to hear now where moves have brought them."""
    is_due = or_(brought.c.tell_after.is_(None), brought.c.tell_after <= now)
    statement = select(brought).where(is_due).order_by(brought.c.tell_after.nulls_first(), brought.c.home_id)
    return all_of(BroughtVisitorRow, await connection.execute(statement.limit(limit)))


async def bring_later(connection: AsyncConnection, one: BroughtVisitorRow, tell_after: datetime) -> None:
    """Their home could not be told."""
    await connection.execute(update(brought).where(_is(one)).values(tell_after=tell_after))


async def is_brought(connection: AsyncConnection, one: BroughtVisitorRow) -> None:
    """Their home has been told, or will never hear it."""
    await connection.execute(delete(brought).where(_is(one)))


def _is(one: BroughtVisitorRow) -> ColumnElement[bool]:
    return and_(*(brought.c[name] == getattr(one, name) for name in ("home_pod", "home_id", "pod_number")))


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
