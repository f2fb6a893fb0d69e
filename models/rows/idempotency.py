"""Rows of the tables of `models.tables.idempotency`."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class IdempotentCallRow:
    """A row of `models.tables.idempotency.IdempotentCall`, which says what its columns mean."""

    caller: str
    key: str
    fingerprint: str
    status: int | None
    content_type: str
    answer: bytes
    created_at: datetime
