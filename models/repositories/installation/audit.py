"""Audit events: added in the transaction that does what they speak of, and read."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from models.columns import table_of
from models.repositories.hooks import system_events
from models.repositories.paging import Listing
from models.repositories.pipelines import contributions
from models.rows.audit import AuditEventRow
from models.tables.audit import AuditEvent

event = table_of(AuditEvent)


@dataclass(frozen=True, slots=True)
class Entity:
    """What was changed: `kind` is `project`, `group`, `user` or `instance`."""

    kind: str
    id: int
    path: str


@dataclass(frozen=True, slots=True)
class Author:
    """Who did it, and from which address."""

    id: int
    name: str
    ip_address: str = ""


@dataclass(frozen=True, slots=True)
class Happened:
    """What happened: a short name, and what was changed; never a secret."""

    name: str
    details: dict[str, Any] = field(default_factory=dict)


async def add(connection: AsyncConnection, author: Author, entity: Entity, happened: Happened, now: datetime) -> None:
    """Write down what somebody did; system hooks and the events of people and projects get what is theirs of it."""
    await connection.execute(
        insert(event).values(
            author_id=author.id,
            author_name=author.name,
            entity_type=entity.kind,
            entity_id=entity.id,
            entity_path=entity.path,
            event=happened.name,
            details=happened.details,
            ip_address=author.ip_address,
            created_at=now,
        )
    )
    await system_events.note(connection, entity.kind, entity.id, happened.name, happened.details, now)
    member = happened.details.get("member", "")
    await contributions.of_audit(connection, entity.kind, entity.id, happened.name, author.id, member, now)


def events(kind: str | None = None, entity_id: int | None = None) -> Listing[AuditEventRow]:
    """Statement for audit events, newest first: all, or those of one entity."""
    statement = select(event).order_by(event.c.id.desc())
    if kind is not None:
        statement = statement.where(event.c.entity_type == kind)
    if entity_id is not None:
        statement = statement.where(event.c.entity_id == entity_id)
    return Listing(statement, AuditEventRow)
