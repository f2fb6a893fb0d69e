"""Rows of the tables of `models.tables.environments`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class ResourceGroupRow:
    """A row of `models.tables.environments.ResourceGroup`, which says what its columns mean."""

    id: int
    project_id: int
    key: str
    process_mode: str
    holder_id: int | None
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class EnvironmentRow:
    """A row of `models.tables.environments.Environment`, which says what its columns mean."""

    id: int
    project_id: int
    name: str
    slug: str
    tier: str
    external_url: str
    state: str
    auto_stop_at: datetime | None
    created_at: datetime
    updated_at: datetime
    kubernetes: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class DeploymentRow:
    """A row of `models.tables.environments.Deployment`, which says what its columns mean."""

    id: int
    iid: int
    project_id: int
    environment_id: int
    job_id: int | None
    pipeline_id: int | None
    user_id: int
    ref: str
    tag: bool
    sha: str
    on_stop: str
    auto_stop_in: int | None
    status: str
    created_at: datetime
    updated_at: datetime | None
    finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class ReleaseRow:
    """A row of `models.tables.environments.Release`, which says what its columns mean."""

    id: int
    project_id: int
    user_id: int
    job_id: int | None
    tag: str
    name: str
    description: str
    sha: str
    milestones: Sequence[str]
    assets: Mapping[str, Any]
    released_at: datetime
    created_at: datetime
