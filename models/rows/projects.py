"""Rows of the tables of `models.tables.projects`."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class ProjectRow:
    """A row of `models.tables.projects.Project`, which says what its columns mean."""

    id: int
    organisation_id: int
    namespace_id: int
    creator_id: int
    path: str
    name: str
    full_path: str
    description: str
    languages: Sequence[str]
    archived: bool
    config_path: str
    default_branch: str
    visibility: str
    timeout: int
    pipeline_count: int
    deployment_count: int
    watched: int
    auto_cancel_redundant: bool
    forward_deployment: bool
    shared_runners_enabled: bool
    group_runners_enabled: bool
    may_run_as_server: bool
    keep_latest_artifacts: bool
    max_artifacts_size: int | None
    auto_devops_enabled: bool | None
    ci_delete_pipelines_in_seconds: int | None
    git_depth: int | None
    git_fetch: bool
    forked_from_id: int | None
    merge_request_count: int
    merge_method: str
    squash_option: str
    only_merge_if_pipeline_succeeds: bool
    allow_merge_on_skipped_pipeline: bool
    only_merge_if_resolved: bool
    remove_source_branch_after_merge: bool
    merge_pipelines_enabled: bool
    merge_trains_enabled: bool
    approvals_required: int
    author_approval: bool
    reset_approvals: bool
    job_tokens_limited: bool
    registration_token_hash: str | None
    created_at: datetime
    removal_asked_at: datetime | None
