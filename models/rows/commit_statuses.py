"""Rows of the tables of `models.tables.commit_statuses`."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class CommitStatusRow:
    """A row of `models.tables.commit_statuses.CommitStatus`, which says what its columns mean."""

    id: int
    project_id: int
    user_id: int
    pipeline_id: int | None
    sha: str
    ref: str
    name: str
    status: str
    target_url: str | None
    description: str | None
    coverage: float | None
    retried: bool
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
