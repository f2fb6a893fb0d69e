"""Rows of the tables of `models.tables.subscriptions`."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class PipelineSubscriptionRow:
    """A row of `models.tables.subscriptions.PipelineSubscription`, which says what its columns mean."""

    id: int
    project_id: int
    upstream_project_id: int | None
    user_id: int
    created_at: datetime
    upstream_path: str
    told_at: datetime | None


@dataclass(frozen=True, slots=True)
class SubscribedRunRow:
    """A row of `models.tables.subscriptions.SubscribedRun`, which says what its columns mean."""

    id: int
    project_id: int
    upstream_id: int | None
    user_id: int
    pipeline_id: int | None
    error: str
    attempts: int
    created_at: datetime
    not_before: datetime
    done_at: datetime | None
    upstream_project_id: int | None
