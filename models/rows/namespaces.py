"""Rows of the tables of `models.tables.namespaces`."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class NamespaceRow:
    """A row of `models.tables.namespaces.Namespace`, which says what its columns mean."""

    id: int
    organisation_id: int
    parent_id: int | None
    trail: str
    path: str
    full_path: str
    name: str
    kind: str
    owner_id: int | None
    description: str
    visibility: str
    project_creation_level: str
    subgroup_creation_level: str
    registration_token_hash: str | None
    created_at: datetime
    removal_asked_at: datetime | None
