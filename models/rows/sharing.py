"""Rows of the tables of `models.tables.sharing`."""

from dataclasses import dataclass
from datetime import date, datetime


@dataclass(frozen=True, slots=True)
class ProjectShareRow:
    """A row of `models.tables.sharing.ProjectShare`, which says what its columns mean."""

    id: int
    project_id: int
    namespace_id: int
    access_level: int
    expires_on: date | None
    created_at: datetime
