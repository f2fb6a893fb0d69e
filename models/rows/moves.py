"""Rows of the tables of `models.tables.moves`."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class OrganisationMoveRow:
    """A row of `models.tables.moves.OrganisationMove`, which says what its columns mean."""

    move_id: str
    organisation_id: int
    path: str
    target: str
    target_number: int
    state: str
    claim_id: str
    facts: Mapping[str, Any]
    created_at: datetime
    changed_at: datetime
    forget_at: datetime | None


@dataclass(frozen=True, slots=True)
class OrganisationArrivalRow:
    """A row of `models.tables.moves.OrganisationArrival`, which says what its columns mean."""

    move_id: str
    organisation_id: int
    path: str
    source: str
    state: str
    claim_id: str
    created_at: datetime
    changed_at: datetime
