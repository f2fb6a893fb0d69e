"""Rows of the tables of `models.tables.pipelines`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class PipelineRow:
    """A row of `models.tables.pipelines.Pipeline`, which says what its columns mean.

    `warned`: it has passed, and a job of it failed that was allowed to.
    """

    id: int
    iid: int
    project_id: int
    user_id: int
    ref: str
    tag: bool
    ref_protected: bool
    sha: str
    before_sha: str
    source: str
    name: str
    status: str
    commit: Mapping[str, Any]
    variables: Sequence[Mapping[str, str]]
    reasons: Mapping[str, Any]
    auto_cancel: Mapping[str, str]
    yaml_errors: str
    failure_reason: str
    status_reason: str
    schedule_description: str
    origin: Mapping[str, Any]
    config_source: str
    bridge_id: int | None
    upstream_id: int | None
    upstream_project_id: int | None
    root_id: int | None
    depth: int
    merge_request_id: int | None
    source_sha: str
    merge_request: Mapping[str, Any]
    open_merge_requests: Sequence[str]
    run: int
    tick: int
    created_at: datetime
    updated_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    duration: float | None
    warned: bool


@dataclass(frozen=True, slots=True)
class StageRow:
    """A row of `models.tables.pipelines.Stage`, which says what its columns mean; `warned` as of a pipeline."""

    id: int
    pipeline_id: int
    position: int
    name: str
    status: str
    warned: bool


@dataclass(frozen=True, slots=True)
class JobFacts:
    """A row of `models.tables.pipelines.Job` without its large columns, which only its making and its hand-out need."""

    id: int
    pipeline_id: int
    stage_id: int
    project_id: int
    user_id: int
    name: str
    position: int
    stage_position: int
    stage_name: str
    first_id: int | None
    attempt: int
    retried: bool
    status: str
    when: str
    allow_failure: bool
    auto_retry: bool
    enqueue: bool
    start_in: int | None
    due_at: datetime | None
    tags: Sequence[str]
    demand_id: int
    timeout: int
    hand_out: int
    runner_id: int | None
    system_id: str
    cancel_gracefully: bool
    folded: bool
    failure_reason: str
    exit_code: int | None
    log_incomplete: bool
    interruptible: bool
    room: str
    bridge: bool
    strategy: str
    downstream_id: int | None
    downstream_ended_at: datetime | None
    resource_group_id: int | None
    environment_id: int | None
    environment_action: str
    created_at: datetime
    queued_at: datetime | None
    started_at: datetime | None
    finished_at: datetime | None
    canceling_at: datetime | None
    erased_at: datetime | None
    unknown_caller: bool
    coverage: float | None
    script_at: datetime | None


@dataclass(frozen=True, slots=True)
class ListedJobRow(JobFacts):
    """A job as people read it; `manual_confirmation` is what to ask before it is played, if anything."""

    manual_confirmation: str | None


@dataclass(frozen=True, slots=True)
class JobRow(JobFacts):
    """A whole row of `models.tables.pipelines.Job`, which says what its columns mean."""

    needs: Sequence[str] | None
    retry: Mapping[str, Any]
    plan: Mapping[str, Any]
    why: Mapping[str, Any]
    variables: Sequence[Mapping[str, str]]
    inputs: Mapping[str, Any] | None
    exit_codes_allowed: Sequence[int]


@dataclass(frozen=True, slots=True)
class MovedJobRow:
    """A job whose status was just written; `watched` is what of its project is watched."""

    id: int
    pipeline_id: int
    project_id: int
    demand_id: int
    bridge: bool
    environment_action: str
    resource_group_id: int | None
    watched: int


@dataclass(frozen=True, slots=True)
class EndedJobRow:
    """A job that has just become complete, or is about to stop; `watched` is what of its project is watched."""

    id: int
    pipeline_id: int
    project_id: int
    status: str
    bridge: bool
    downstream_id: int | None
    resource_group_id: int | None
    environment_id: int | None
    environment_action: str
    watched: int
