"""The pod's own claims on names: noted, used, confirmed, dropped (`domain.pods.own_claims`)."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Final

from sqlalchemy import ColumnElement, and_, delete, exists, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.pods.claims import ClaimKind
from domain.pods.own_claims import NEXT, NOTED_FOR, OwnClaim
from models.columns import table_of
from models.rows.name_claims import NameClaimRow
from models.tables.accounts import User
from models.tables.name_claims import NameClaim
from models.tables.namespaces import Namespace
from models.typed_rows import all_of

name_claim = table_of(NameClaim)
account = table_of(User)
namespace = table_of(Namespace)

_DUE: Final = sorted({OwnClaim.USED, OwnClaim.DROPPED})


async def note(connection: AsyncConnection, claim_id: str, kind: ClaimKind, name: str, now: datetime) -> None:
    """Write down that the directory is about to be asked."""
    values = {"claim_id": claim_id, "kind": kind, "name": name, "state": OwnClaim.NOTED, "created_at": now}
    await connection.execute(insert(name_claim).values(**values))


async def turn(
    connection: AsyncConnection, claim_ids: Collection[str], state: OwnClaim, organisation_id: int | None = None
) -> int:
    """Let claims go on to a state, as far as it may follow theirs; how many did."""
    before = sorted(known for known, following in NEXT.items() if state in following)
    rule = name_claim.c.claim_id.in_(sorted(claim_ids)) & name_claim.c.state.in_(before)
    values: dict[str, object] = {"state": state}
    if organisation_id is not None:
        values["organisation_id"] = organisation_id
    return (await connection.execute(update(name_claim).where(rule).values(**values))).rowcount


async def drop_name(connection: AsyncConnection, kind: ClaimKind, name: str) -> None:
    """What had the name has it no more; part of the transaction that takes it away."""
    rule = (name_claim.c.kind == kind) & (name_claim.c.name == name) & (name_claim.c.state != OwnClaim.NOTED)
    await connection.execute(update(name_claim).where(rule).values(state=OwnClaim.DROPPED))


async def drop_unused(connection: AsyncConnection, claim_ids: Collection[str]) -> None:
    """Drop those of these claims that are noted only."""
    rule = name_claim.c.claim_id.in_(sorted(claim_ids)) & (name_claim.c.state == OwnClaim.NOTED)
    await connection.execute(update(name_claim).where(rule).values(state=OwnClaim.DROPPED))


async def drop_abandoned(connection: AsyncConnection, now: datetime) -> int:
    """Drop what was noted and has not been used in time: whoever wanted it cannot use it from now on."""
    rule = (name_claim.c.state == OwnClaim.NOTED) & (name_claim.c.created_at < now - NOTED_FOR)
    return (await connection.execute(update(name_claim).where(rule).values(state=OwnClaim.DROPPED))).rowcount


async def due(connection: AsyncConnection, limit: int) -> Sequence[NameClaimRow]:
    """Claims of which the directory has something to hear, the oldest first."""
    statement = select(name_claim).where(name_claim.c.state.in_(_DUE)).order_by(name_claim.c.created_at).limit(limit)
    return all_of(NameClaimRow, await connection.execute(statement))


async def of_ids(connection: AsyncConnection, claim_ids: Collection[str]) -> Sequence[NameClaimRow]:
    """The claims with these ids."""
    statement = select(name_claim).where(name_claim.c.claim_id.in_(sorted(claim_ids)))
    return all_of(NameClaimRow, await connection.execute(statement))


async def forget(connection: AsyncConnection, claim_id: str) -> None:
    """The directory has released a dropped claim."""
    rule = (name_claim.c.claim_id == claim_id) & (name_claim.c.state == OwnClaim.DROPPED)
    await connection.execute(delete(name_claim).where(rule))


async def known_among(connection: AsyncConnection, claim_ids: Collection[str]) -> set[str]:
    """Those of these claims that the pod has."""
    known = set((await connection.execute(select(name_claim.c.claim_id))).scalars())
    return known & set(claim_ids)


async def confirmed_beside(connection: AsyncConnection, claim_ids: Collection[str]) -> list[str]:
    """Confirmed claims that are not among these."""
    statement = select(name_claim.c.claim_id).where(name_claim.c.state == OwnClaim.CONFIRMED)
    return sorted(set((await connection.execute(statement)).scalars()) - set(claim_ids))


async def begin_anew(connection: AsyncConnection, claim_id: str, new_id: str) -> None:
    """The directory does not know a confirmed claim: the name is claimed by another id."""
    rule = (name_claim.c.claim_id == claim_id) & (name_claim.c.state == OwnClaim.CONFIRMED)
    await connection.execute(update(name_claim).where(rule).values(claim_id=new_id, state=OwnClaim.USED))


async def has(connection: AsyncConnection, kind: ClaimKind, name: str) -> bool:
    """Whether something of this pod has, or had, a claim of its own on a name, be it one that was refused."""
    rule = (name_claim.c.kind == kind) & (name_claim.c.name == name.lower())
    return (await connection.execute(select(name_claim.c.claim_id).where(rule).limit(1))).first() is not None


async def refused(connection: AsyncConnection) -> Sequence[NameClaimRow]:
    """Names that something here and something of another pod have."""
    statement = select(name_claim).where(name_claim.c.state == OwnClaim.REFUSED).order_by(name_claim.c.name)
    return all_of(NameClaimRow, await connection.execute(statement))


async def unclaimed(connection: AsyncConnection, limit: int) -> Sequence[tuple[ClaimKind, str, int | None]]:
    """Names in use that were never claimed: kind, name, and the id of a top-level group."""
    path, email = func.lower(namespace.c.full_path), func.lower(account.c.email)
    username = func.lower(account.c.username)
    groups = select(path, namespace.c.id).where(
        namespace.c.parent_id.is_(None), namespace.c.kind != "user", ~_claimed(ClaimKind.PATH, path)
    )
    own = ~account.c.bot & account.c.home_pod.is_(None)  # names of visitors are claimed at their homes
    people = select(username).where(own, ~_claimed(ClaimKind.PATH, username))
    emails = select(email).distinct().where(own, account.c.email != "", ~_claimed(ClaimKind.EMAIL, email))
    found: list[tuple[ClaimKind, str, int | None]] = []
    found += [(ClaimKind.PATH, row[0], row[1]) for row in await connection.execute(groups.limit(limit))]
    for kind, statement in ((ClaimKind.PATH, people), (ClaimKind.EMAIL, emails)):
        found += [(kind, name, None) for name in (await connection.execute(statement.limit(limit))).scalars()]
    return found


def _claimed(kind: ClaimKind, name: ColumnElement[str]) -> ColumnElement[bool]:
    return exists().where(and_(name_claim.c.kind == kind, name_claim.c.name == name))


async def adopt(
    connection: AsyncConnection,
    claim_id: str,
    kind: ClaimKind,
    name: str,
    organisation_id: int | None,
    now: datetime,
) -> None:
    """Write down a claim on a name that is in use already."""
    values = {"kind": kind, "name": name, "state": OwnClaim.USED, "created_at": now}
    await connection.execute(insert(name_claim).values(claim_id=claim_id, organisation_id=organisation_id, **values))
