"""How far moves are: out of this pod, and into it (`domain.pods.moving`)."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import and_, delete, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.pods.claims import ClaimKind
from domain.pods.moving import IN_NO_PLACE, NEXT, NEXT_ARRIVAL, OPEN, Arrival, Move
from domain.pods.own_claims import OwnClaim
from models.columns import table_of
from models.repositories.installation.name_claims import name_claim
from models.rows.moves import OrganisationArrivalRow, OrganisationMoveRow
from models.rows.name_claims import NameClaimRow
from models.tables.moves import MovedRow, OrganisationArrival, OrganisationMove
from models.typed_rows import all_of, first_of

move = table_of(OrganisationMove)
arrival = table_of(OrganisationArrival)
moved_row = table_of(MovedRow)

LATE: Final = timedelta(seconds=60)
"""For so long after the switch a router may still send what is for an organisation to the pod that it has left."""


async def begin(connection: AsyncConnection, row: OrganisationMoveRow) -> None:
    """Write down a move that begins."""
    await connection.execute(insert(move).values(**{name: getattr(row, name) for name in row.__slots__}))


async def expect(connection: AsyncConnection, row: OrganisationArrivalRow) -> None:
    """Write down that an organisation is to come; what is written already stays.

    What this pod still had to forget of it, which it left before, is what comes back.
    """
    if await find_arrival(connection, row.move_id) is None:
        await connection.execute(insert(arrival).values(**{name: getattr(row, name) for name in row.__slots__}))
    left = (move.c.organisation_id == row.organisation_id) & (move.c.state == Move.SWITCHED)
    old = select(move.c.move_id).where(left)
    await connection.execute(delete(moved_row).where(moved_row.c.move_id.in_(old)))
    await connection.execute(update(move).where(left).values(state=Move.FORGOTTEN, forget_at=None))


async def find(connection: AsyncConnection, move_id: str) -> OrganisationMoveRow | None:
    """A move out of this pod."""
    return first_of(OrganisationMoveRow, await connection.execute(select(move).where(move.c.move_id == move_id)))


async def find_arrival(connection: AsyncConnection, move_id: str) -> OrganisationArrivalRow | None:
    """A move into this pod."""
    statement = select(arrival).where(arrival.c.move_id == move_id)
    return first_of(OrganisationArrivalRow, await connection.execute(statement))


async def open_of(connection: AsyncConnection, path: str) -> OrganisationMoveRow | None:
    """The move of the organisation with this path (in small letters) that is not over."""
    statement = select(move).where(move.c.path == path, move.c.state.in_(sorted(OPEN)))
    return first_of(OrganisationMoveRow, await connection.execute(statement))


async def known_here(connection: AsyncConnection, now: datetime) -> Sequence[OrganisationMoveRow]:
    """Moves that whoever answers for the pod has to know of: those that are not over, and those that just are."""
    just = and_(move.c.state == Move.SWITCHED, move.c.changed_at > now - LATE)
    statement = select(move).where(or_(move.c.state.in_(sorted(OPEN)), just)).order_by(move.c.created_at)
    return all_of(OrganisationMoveRow, await connection.execute(statement))


async def to_forget(connection: AsyncConnection, now: datetime) -> Sequence[OrganisationMoveRow]:
    """Moves whose grace time is over."""
    statement = select(move).where(move.c.state == Move.SWITCHED, move.c.forget_at <= now)
    return all_of(OrganisationMoveRow, await connection.execute(statement))


async def turn(connection: AsyncConnection, move_id: str, state: Move, now: datetime, **values: Any) -> bool:
    """Let a move go on to a state, if it may follow its own; whether it did."""
    before = sorted(known for known, following in NEXT.items() if state in following)
    rule = and_(move.c.move_id == move_id, move.c.state.in_(before))
    done = await connection.execute(update(move).where(rule).values(state=state, changed_at=now, **values))
    return bool(done.rowcount)


async def turn_arrival(connection: AsyncConnection, move_id: str, state: Arrival, now: datetime, **values: Any) -> bool:
    """The same of one into this pod. Two who try are told apart: one of them did."""
    before = sorted(known for known, following in NEXT_ARRIVAL.items() if state in following)
    rule = and_(arrival.c.move_id == move_id, arrival.c.state.in_(before))
    done = await connection.execute(update(arrival).where(rule).values(state=state, changed_at=now, **values))
    return bool(done.rowcount)


async def claims_on_the_way(connection: AsyncConnection) -> set[str]:
    """Claims that the directory has of another pod than this one, or this one not any more: neither is a mistake."""
    leaving = select(move.c.claim_id).where(move.c.state.in_(sorted(IN_NO_PLACE)))
    coming = select(arrival.c.claim_id).where(arrival.c.state == Arrival.ARRIVED)
    found = {*(await connection.execute(leaving)).scalars(), *(await connection.execute(coming)).scalars()}
    return found - {""}


async def claim_of(connection: AsyncConnection, organisation_id: int) -> NameClaimRow | None:
    """The claim on the path of an organisation, as the directory has it."""
    rule = and_(name_claim.c.organisation_id == organisation_id, name_claim.c.state == OwnClaim.CONFIRMED)
    return first_of(NameClaimRow, await connection.execute(select(name_claim).where(rule)))


async def give_claim_away(connection: AsyncConnection, claim_id: str) -> None:
    """The claim is this pod's no more; nobody releases it."""
    await connection.execute(delete(name_claim).where(name_claim.c.claim_id == claim_id))


async def take_claim(
    connection: AsyncConnection, claim_id: str, path: str, organisation_id: int, now: datetime
) -> None:
    """The claim is this pod's from now on."""
    values = {"kind": ClaimKind.PATH, "name": path, "state": OwnClaim.CONFIRMED, "organisation_id": organisation_id}
    await connection.execute(insert(name_claim).values(claim_id=claim_id, **values, created_at=now))
