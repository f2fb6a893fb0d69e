"""Rows of the tables of `models.tables.protected_refs`."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class ProtectedBranchRow:
    """A row of `models.tables.protected_refs.ProtectedBranch`, which says what its columns mean."""

    id: int
    project_id: int
    name: str
    push_level: int
    merge_level: int
    allow_force_push: bool
    created_at: datetime


@dataclass(frozen=True, slots=True)
class ProtectedTagRow:
    """A row of `models.tables.protected_refs.ProtectedTag`, which says what its columns mean."""

    id: int
    project_id: int
    name: str
    create_level: int
    created_at: datetime
