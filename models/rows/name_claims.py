"""Rows of the tables of `models.tables.name_claims`."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class NameClaimRow:
    """A row of `models.tables.name_claims.NameClaim`, which says what its columns mean."""

    claim_id: str
    kind: str
    name: str
    state: str
    organisation_id: int | None
    created_at: datetime
