"""Rows of the tables of `models.tables.sessions`."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class EndedSessionRow:
    """A row of `models.tables.sessions.EndedSession`, which says what its columns mean."""

    session_id: str
    expires_at: datetime
