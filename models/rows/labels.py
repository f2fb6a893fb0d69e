"""Rows of the tables of `models.tables.labels`."""

from dataclasses import dataclass
from datetime import date, datetime


@dataclass(frozen=True, slots=True)
class LabelRow:
    """A row of `models.tables.labels.Label`, which says what its columns mean."""

    id: int
    project_id: int | None
    namespace_id: int | None
    name: str
    color: str
    description: str
    priority: int | None
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class MilestoneRow:
    """A row of `models.tables.labels.Milestone`, which says what its columns mean."""

    id: int
    iid: int
    project_id: int | None
    namespace_id: int | None
    title: str
    description: str
    state: str
    start_date: date | None
    due_date: date | None
    created_at: datetime
    updated_at: datetime
