"""Rows of the tables of `models.tables.audit`."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class AuditEventRow:
    """A row of `models.tables.audit.AuditEvent`, which says what its columns mean."""

    id: int
    author_id: int
    author_name: str
    entity_type: str
    entity_id: int
    entity_path: str
    event: str
    details: Mapping[str, Any]
    ip_address: str
    created_at: datetime
