"""SQL on the ids of what has moved with its organisation. Functions take a connection in a transaction."""

from collections.abc import Sequence

from sqlalchemy import Connection, delete, insert, select

from domain.pods.directory import IdKind
from pods.directory.tables import OWNERS


def keep_owners(connection: Connection, organisation_id: int, kind: IdKind, ids: Sequence[int], version: int) -> bool:
    """These ids are of what belongs to an organisation; whether that is new."""
    rule = (OWNERS.c.kind == kind.value) & OWNERS.c.id.in_(ids)
    known = {row.id: row.organisation_id for row in connection.execute(select(OWNERS).where(rule))}
    changed = sorted({row_id for row_id in ids if known.get(row_id) != organisation_id})
    if not changed:
        return False
    connection.execute(delete(OWNERS).where(OWNERS.c.kind == kind.value, OWNERS.c.id.in_(changed)))
    values = {"kind": kind.value, "organisation_id": organisation_id, "version": version}
    connection.execute(insert(OWNERS), [{**values, "id": row_id} for row_id in changed])
    return True


def owners_since(connection: Connection, version: int) -> dict[IdKind, dict[int, int]]:
    """Organisations of ids that have become known since a version, by kind."""
    found: dict[IdKind, dict[int, int]] = {}
    for row in connection.execute(select(OWNERS).where(OWNERS.c.version > version)):
        found.setdefault(IdKind(row.kind), {})[row.id] = row.organisation_id
    return found
