"""Who changed what: the audit events."""

from datetime import datetime
from typing import Any

from sqlalchemy import Index
from sqlmodel import SQLModel

from models.columns import COUNTING, document, key, moment, number


class AuditEvent(SQLModel, table=True):
    """Something that a person did to a project, a group, a person or the instance (`entity_type`, `entity_id`).

    `event` is a short name as `member_added`; `details` says what was changed, never a secret. Rows are never changed,
    and outlive what they speak of.
    """

    __tablename__ = "audit_event"
    __table_args__ = (Index("audit_event_of_entity", "entity_type", "entity_id", "id"), COUNTING)

    id: int | None = key()
    author_id: int = number()
    author_name: str
    entity_type: str
    entity_id: int = number()
    entity_path: str = ""
    event: str
    details: dict[str, Any] = document()
    ip_address: str = ""
    created_at: datetime = moment(nullable=False)
