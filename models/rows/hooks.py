"""Rows of the tables of `models.tables.hooks`, and what several of their readers take of them."""

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
class EventDeliveryRow(HookDeliveryRow):
    """A delivery, and the event that it tells of, which happened at `happened_at`."""

    kind: str
    event_uuid: str
    project_id: int | None
    pipeline_id: int | None
    job_id: int | None
    user_id: int | None
    facts: Mapping[str, Any]
    happened_at: datetime


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


@dataclass(frozen=True, slots=True)
class LinkedReportRow(CommitReportRow):
    """A report with what its link says of the forge, the ref of its pipeline and the path of its project."""

    kind: str
    api_url: str
    repository: str
    token: str
    context_prefix: str
    verify_tls: bool
    ref: str
    full_path: str


@dataclass(frozen=True, slots=True)
class DueRow:
    """A delivery, a report or a message that is due; `mark` is another number as soon as it has changed."""

    id: int
    mark: int


@dataclass(frozen=True, slots=True)
class ChangedPipelineRow:
    """What webhooks and forges are told of a pipeline that has a new status."""

    id: int
    project_id: int
    user_id: int
    sha: str
    source: str
    status: str
    started_at: datetime | None
    finished_at: datetime | None
    duration: float | None
