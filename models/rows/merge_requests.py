"""Rows of the tables of `models.tables.merge_requests`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class MergeRequestRow:
    """A row of `models.tables.merge_requests.MergeRequest`, which says what its columns mean."""

    id: int
    iid: int
    project_id: int
    source_project_id: int | None
    source_branch: str
    target_branch: str
    author_id: int
    title: str
    description: str
    state: str
    labels: Sequence[str]
    milestone_id: int | None
    assignee_ids: Sequence[int]
    reviewer_ids: Sequence[int]
    squash: bool
    remove_source_branch: bool
    head_sha: str
    base_sha: str
    start_sha: str
    diff_version: int
    merge_status: str
    checked_sha: str
    merging_sha: str
    merge_commit_sha: str
    squash_commit_sha: str
    merge_user_id: int | None
    merge_error: str
    auto_merge: str
    auto_merge_user_id: int | None
    merge_options: Mapping[str, Any]
    closed_by_id: int | None
    created_at: datetime
    updated_at: datetime
    locked_at: datetime | None
    merged_at: datetime | None
    closed_at: datetime | None


@dataclass(frozen=True, slots=True)
class MergeRequestEventRow:
    """A row of `models.tables.merge_requests.MergeRequestEvent`, which says what its columns mean."""

    id: int
    merge_request_id: int
    user_id: int
    kind: str
    sha: str
    skip: bool
    attempts: int
    error: str
    created_at: datetime
    not_before: datetime


@dataclass(frozen=True, slots=True)
class TrainCarRow:
    """A row of `models.tables.merge_requests.TrainCar`, which says what its columns mean."""

    id: int
    project_id: int
    target_branch: str
    merge_request_id: int
    user_id: int
    status: str
    pipeline_id: int | None
    head_sha: str
    base_sha: str
    sha: str
    merge_commit_sha: str
    squash_commit_sha: str
    options: Mapping[str, Any]
    version: int
    created_at: datetime
    updated_at: datetime
    merged_at: datetime | None
