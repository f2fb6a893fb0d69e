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


@dataclass(frozen=True, slots=True)
class BroughtVisitorRow:
    """A row of `models.tables.visits.BroughtVisitor`, which says what its columns mean."""

    home_pod: int
    home_id: int
    pod_number: int
    moved_at: datetime
    tell_after: datetime | None
