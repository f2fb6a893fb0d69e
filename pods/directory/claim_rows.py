"""SQL on the claims of the directory. Functions take a connection in a transaction."""

from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, Row, delete, func, insert, select, update

from domain.pods.claims import Claim, ClaimKind, ClaimState
from pods.directory.tables import CLAIMS, HELD, PLACED, PODS


@dataclass(frozen=True, slots=True)
class KeptClaim:
    """A claim, and when it was made in unix seconds."""

    claim: Claim
    created_at: int


def count_held(connection: Connection, pod_number: int) -> int:
    """How many claims a pod has, tentative ones too."""
    statement = select(func.count()).select_from(CLAIMS).where(CLAIMS.c.pod_number == pod_number, HELD)
    found: int = connection.execute(statement).scalar_one()
    return found


def count_by_kind_and_state(connection: Connection) -> dict[tuple[ClaimKind, ClaimState], int]:
    """How many claims there are of each kind in each state; those without any are left out."""
    columns = CLAIMS.c.kind, CLAIMS.c.state
    rows = connection.execute(select(*columns, func.count()).group_by(*columns))
    return {(ClaimKind(kind), ClaimState(state)): count for kind, state, count in rows}


def oldest_tentative_by_pod(connection: Connection) -> dict[str, int]:
    """When the oldest claim was made that a pod has neither confirmed nor released, by the pods' names."""
    statement = (
        select(PODS.c.name, func.min(CLAIMS.c.created_at).label("begun_at"))
        .join(PODS, PODS.c.number == CLAIMS.c.pod_number)
        .where(CLAIMS.c.kind.in_(list(ClaimKind)), CLAIMS.c.state == ClaimState.TENTATIVE.value)
        .group_by(PODS.c.name)
    )
    return {row.name: row.begun_at for row in connection.execute(statement)}


def find_claim(connection: Connection, claim_id: str) -> Claim | None:
    """A claim by its id, a released one too."""
    row = connection.execute(select(CLAIMS).where(CLAIMS.c.claim_id == claim_id)).one_or_none()
    return None if row is None else _claim(row)


def find_holder(connection: Connection, kind: ClaimKind, name: str) -> Claim | None:
    """Who has a name, or has begun to take it."""
    statement = select(CLAIMS).where(CLAIMS.c.kind == kind.value, CLAIMS.c.name == name, HELD)
    row = connection.execute(statement).one_or_none()
    return None if row is None else _claim(row)


def find_home(connection: Connection, organisation_id: int) -> int | None:
    """The pod that an organisation was confirmed for."""
    statement = select(CLAIMS.c.pod_number).where(PLACED, CLAIMS.c.organisation_id == organisation_id).limit(1)
    return connection.execute(statement).scalar_one_or_none()


def claims_of_organisation(connection: Connection, organisation_id: int) -> list[Claim]:
    """Its confirmed paths: two while it gets another one."""
    rows = connection.execute(select(CLAIMS).where(PLACED, CLAIMS.c.organisation_id == organisation_id))
    return [_claim(row) for row in rows]


def list_claims(
    connection: Connection, pod_number: int, state: ClaimState | None, after: str, limit: int
) -> list[KeptClaim]:
    """Claims of a pod in the order of their ids, from the one behind `after`; without `state` all that hold a name."""
    wanted = HELD if state is None else CLAIMS.c.state == state.value
    statement = select(CLAIMS).where(CLAIMS.c.pod_number == pod_number, CLAIMS.c.claim_id > after, wanted)
    rows = connection.execute(statement.order_by(CLAIMS.c.claim_id).limit(limit))
    return [KeptClaim(_claim(row), row.created_at) for row in rows]


def insert_claim(connection: Connection, claim: Claim, created_at: int) -> None:
    """Keep a new claim, which nobody sees yet."""
    connection.execute(insert(CLAIMS).values(**_values(claim), created_at=created_at, version=0))


def update_claim(connection: Connection, claim: Claim, version: int | None, now: int) -> None:
    """Keep a claim that has changed at the unix second `now`; with the `version` if readers see the change."""
    seen = {} if version is None else {"version": version}
    released = {"released_at": now} if claim.state is ClaimState.RELEASED else {}
    statement = update(CLAIMS).where(CLAIMS.c.claim_id == claim.claim_id)
    connection.execute(statement.values(**_values(claim), **seen, **released))


def prune_released(connection: Connection, until: int, limit: int) -> tuple[int, int]:
    """Remove claims that were released up to the unix second `until`, `limit` at most.

    How many, and the latest version at which readers saw one of them. Those of organisations that have moved stay: by
    them readers are told where the ids are that were given elsewhere (`moved_since`).
    """
    old = (CLAIMS.c.released_at <= until) & ~HELD & ~CLAIMS.c.was_moved
    rows = connection.execute(select(CLAIMS.c.claim_id, CLAIMS.c.version).where(old).limit(limit)).all()
    connection.execute(delete(CLAIMS).where(CLAIMS.c.claim_id.in_([row.claim_id for row in rows])))
    return len(rows), max((row.version for row in rows), default=0)


def organisations_since(connection: Connection, version: int) -> dict[str, int | None]:
    """Paths that have changed, with their pod, or None where nobody has them any more."""
    columns = select(CLAIMS.c.name, CLAIMS.c.pod_number, CLAIMS.c.state)
    changed = columns.where(CLAIMS.c.kind == ClaimKind.PATH.value, CLAIMS.c.version > version)
    rows = connection.execute(changed.order_by(CLAIMS.c.version))
    # A path that was released and taken again has its later row behind its earlier one.
    return {name: pod_number if state == ClaimState.CONFIRMED else None for name, pod_number, state in rows}


def moved_since(connection: Connection, version: int) -> dict[str, int | None]:
    """Organisations that have moved, with their pod, or None for one that is no more.

    One that is back where its id says is told, too: what was made elsewhere has other ids, and came along.
    """
    # A path that it got after it had come back says nothing of a move.
    ever_moved = select(CLAIMS.c.organisation_id).where(CLAIMS.c.was_moved)
    changed = select(CLAIMS.c.organisation_id).where(
        CLAIMS.c.version > version, CLAIMS.c.organisation_id.in_(ever_moved)
    )
    placed = select(CLAIMS).where(PLACED, CLAIMS.c.organisation_id.in_(changed))
    homes = {row.organisation_id: _claim(row) for row in connection.execute(placed)}
    ids = connection.execute(changed.distinct()).scalars().all()
    return {str(found): homes[found].pod_number if found in homes else None for found in ids}


def _claim(row: Row[Any]) -> Claim:
    claim = Claim(row.claim_id, ClaimKind(row.kind), row.name, row.pod_number, ClaimState(row.state))
    return replace(claim, organisation_id=row.organisation_id, was_moved=row.was_moved)


def _values(claim: Claim) -> dict[str, Any]:
    return {
        "claim_id": claim.claim_id,
        "kind": claim.kind.value,
        "name": claim.name,
        "pod_number": claim.pod_number,
        "state": claim.state.value,
        "organisation_id": claim.organisation_id,
        "was_moved": claim.was_moved,
    }
