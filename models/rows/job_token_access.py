"""Rows of the tables of `models.tables.job_token_access`."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class JobTokenAccessRow:
    """A row of `models.tables.job_token_access.JobTokenAccess`, which says what its columns mean."""

    id: int
    project_id: int
    source_project_id: int | None
    namespace_id: int | None
    created_at: datetime
