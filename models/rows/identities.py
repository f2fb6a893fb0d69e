"""Rows of the tables of `models.tables.identities`."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class IdentityRow:
    """A row of `models.tables.identities.Identity`, which says what its columns mean."""

    id: int
    user_id: int
    issuer: str
    subject: str
    created_at: datetime
