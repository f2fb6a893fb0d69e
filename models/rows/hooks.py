"""Rows of the tables of `models.tables.hooks`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class HookRow:
    """A row of `models.tables.hooks.Hook`, which says what its columns mean."""

    id: int
    scope: str
    project_id: int | None
    namespace_id: int | None
    uuid: str
    url: str
    name: str
    description: str
    events: int
    branch_filter: str
    branch_filter_strategy: str
    verify_tls: bool
    token: str
    signing_token: str
    custom_headers: str
    url_variables: str
    failures: int
    disabled_until: datetime | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class HookEventRow:
    """A row of `models.tables.hooks.HookEvent`, which says what its columns mean."""

    id: int
    project_id: int | None
    kind: str
    uuid: str
    user_id: int | None
    pipeline_id: int | None
    job_id: int | None
    facts: Mapping[str, Any]
    created_at: datetime


@dataclass(frozen=True, slots=True)
class HookDeliveryRow:
    """A row of `models.tables.hooks.HookDelivery`, which says what its columns mean."""

    id: int
    hook_id: int
    event_id: int
    uuid: str
    state: str
    single: bool
    attempts: int
    due_at: datetime
    body: str
    request_headers: Mapping[str, str]
    response_status: int | None
    response_headers: Mapping[str, str]
    response_body: str
    duration: float
    error: str
    tries: Sequence[Mapping[str, Any]]
    created_at: datetime
    attempted_at: datetime | None


@dataclass(frozen=True, slots=True)
class ForgeLinkRow:
    """A row of `models.tables.hooks.ForgeLink`, which says what its columns mean."""

    id: int
    project_id: int
    kind: str
    repository_url: str
    api_url: str
    repository: str
    token: str
    context_prefix: str
    verify_tls: bool
    active: bool
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class CommitReportRow:
    """A row of `models.tables.hooks.CommitReport`, which says what its columns mean."""

    id: int
    link_id: int
    sha: str
    pipeline_id: int
    status: str
    wanted: int
    told: int
    shown: str
    state: str
    attempts: int
    due_at: datetime
    response_status: int | None
    error: str
    since: datetime
    updated_at: datetime
