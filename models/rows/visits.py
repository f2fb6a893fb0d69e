"""Rows of the tables of `models.tables.visits`."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class VisitRow:
    """A row of `models.tables.visits.Visit`, which says what its columns mean."""

    user_id: int
    pod_number: int
    last_ticket_at: datetime
    told_blocked: bool
    tell_after: datetime | None
