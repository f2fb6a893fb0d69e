"""Rows of the tables of `models.tables.mirrors`."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class MirrorRow:
    """A row of `models.tables.mirrors.Mirror`, which says what its columns mean."""

    id: int
    project_id: int
    user_id: int
    url: str
    credentials: str
    enabled: bool
    trigger_builds: bool
    interval: int
    status: str
    last_error: str
    failures: int
    last_update_at: datetime | None
    last_update_started_at: datetime | None
    last_successful_update_at: datetime | None
    next_at: datetime | None
    held_until: datetime | None
    created_at: datetime
