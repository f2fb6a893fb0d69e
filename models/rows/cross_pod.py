"""Rows of the tables of `models.tables.cross_pod`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class CrossPodDownstreamRow:
    """A row of `models.tables.cross_pod.CrossPodDownstream`, which says what its columns mean."""

    bridge_id: int
    pipeline_id: int
    pod: int
    iid: int
    downstream_project_id: int
    full_path: str
    visibility: str
    ref: str
    sha: str
    source: str
    name: str
    status: str
    run: int
    tick: int
    created_at: datetime
    updated_at: datetime
    checked_at: datetime


@dataclass(frozen=True, slots=True)
class CrossPodUpstreamRow:
    """A row of `models.tables.cross_pod.CrossPodUpstream`, which says what its columns mean."""

    pipeline_id: int
    bridge_id: int
    pod: int
    upstream_id: int
    upstream_project_id: int
    full_path: str
    visibility: str
    ancestors: Sequence[Mapping[str, Any]]
    hierarchy: int
    told_status: str


@dataclass(frozen=True, slots=True)
class CrossPodFollowerRow:
    """A row of `models.tables.cross_pod.CrossPodFollower`, which says what its columns mean."""

    upstream_project_id: int
    follower_id: int
    full_path: str
    user_id: int
    noted_at: datetime


@dataclass(frozen=True, slots=True)
class CrossPodNeedRow:
    """A row of `models.tables.cross_pod.CrossPodNeed`, which says what its columns mean."""

    job_id: int
    position: int
    answer: Mapping[str, Any]
    sealed_token: str
    answered_at: datetime
