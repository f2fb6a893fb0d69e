"""Merge requests as GitLab's JSON."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from typing_extensions import TypedDict

from api.v4.representation.milestones import MilestoneResponse
from api.v4.representation.people import PersonResponse, person
from api.v4.representation.pipelines import PipelineDetailsResponse, PipelineResponse
from api.v4.representation.pipelines import brief as brief_pipeline
from application.merge_requests.addresses import page_of
from domain.merge_requests.merge_request import Standing, State, detailed_status, is_draft
from domain.moments import moment
from models.rows.accounts import UserRow
from models.rows.merge_requests import MergeRequestRow
from models.rows.pipelines import PipelineRow
from models.rows.projects import ProjectRow


class ReferencesResponse(TypedDict):
    """How texts name a merge request."""

    short: str
    relative: str
    full: str


class TimeStatsResponse(TypedDict):
    """What time was planned and spent: nobody counts any here."""

    time_estimate: int
    total_time_spent: int
    human_time_estimate: str | None
    human_total_time_spent: str | None


class TaskCompletionResponse(TypedDict):
    """How many boxes of a description are ticked: nobody counts any here."""

    count: int
    completed_count: int


class MergeRequestHeadResponse(TypedDict):
    """What every document about a merge request begins with."""

    id: int
    iid: int
    project_id: int
    title: str
    description: str
    state: str
    created_at: str
    updated_at: str


class MergeRequestResponse(MergeRequestHeadResponse):
    """A merge request as an item of a list."""

    merged_by: PersonResponse | None
    merge_user: PersonResponse | None
    merged_at: str | None
    closed_by: PersonResponse | None
    closed_at: str | None
    target_branch: str
    source_branch: str
    user_notes_count: int
    upvotes: int
    downvotes: int
    author: PersonResponse | None
    assignees: list[PersonResponse]
    assignee: PersonResponse | None
    reviewers: list[PersonResponse]
    source_project_id: int | None
    target_project_id: int
    labels: list[str]
    draft: bool
    work_in_progress: bool
    milestone: MilestoneResponse | None
    merge_when_pipeline_succeeds: bool
    merge_status: str
    detailed_merge_status: str
    has_conflicts: bool
    sha: str
    merge_commit_sha: str | None
    squash_commit_sha: str | None
    discussion_locked: bool | None
    should_remove_source_branch: bool | None
    force_remove_source_branch: bool
    prepared_at: str
    reference: str
    references: ReferencesResponse
    web_url: str
    time_stats: TimeStatsResponse
    squash: bool
    squash_on_merge: bool
    task_completion_status: TaskCompletionResponse
    blocking_discussions_resolved: bool


class DiffRefsResponse(TypedDict):
    """The commits between which a merge request's changes are."""

    base_sha: str | None
    head_sha: str
    start_sha: str | None


class MergingUserResponse(TypedDict):
    """What the caller may do."""

    can_merge: bool


class MergeRequestDetailsResponse(MergeRequestResponse):
    """A merge request in full; its pipelines as far as the caller may see them."""

    subscribed: bool
    changes_count: str
    latest_build_started_at: str | None
    latest_build_finished_at: str | None
    first_deployed_to_production_at: str | None
    pipeline: PipelineResponse | None
    head_pipeline: PipelineDetailsResponse | None
    diff_refs: DiffRefsResponse
    merge_error: str | None
    rebase_in_progress: bool
    first_contribution: bool
    user: MergingUserResponse


class _Mergeability(TypedDict):
    merge_status: str
    detailed_merge_status: str
    has_conflicts: bool


@dataclass(frozen=True, slots=True)
class Around:
    """What a list of merge requests points to: people by id, target projects by id, and the address of the server.

    `notes` counts what people wrote, by the id of the merge request; `unresolved` are those with open threads.
    `milestones` are shown already.
    """

    url: str
    people: Mapping[int, UserRow] = field(default_factory=dict)
    projects: Mapping[int, ProjectRow] = field(default_factory=dict)
    notes: Mapping[int, int] = field(default_factory=dict)
    unresolved: frozenset[int] = frozenset()
    milestones: Mapping[int, MilestoneResponse] = field(default_factory=dict)

    def milestone(self, key: int | None) -> MilestoneResponse | None:
        """A milestone, or None for none."""
        return None if key is None else self.milestones.get(key)

    def person(self, key: int | None) -> PersonResponse | None:
        """A person, or None for nobody."""
        found = None if key is None else self.people.get(key)
        return None if found is None else person(found, self.url)

    def everybody(self, keys: Iterable[int]) -> list[PersonResponse]:
        """Those of these people that are there."""
        return [person(self.people[key], self.url) for key in keys if key in self.people]


def people_of(rows: Iterable[MergeRequestRow]) -> set[int]:
    """The ids of everybody whom merge requests name."""
    found: set[int | None] = set()
    for row in rows:
        found |= {row.author_id, row.merge_user_id, row.closed_by_id, row.auto_merge_user_id}
        found |= {*row.assignee_ids, *row.reviewer_ids}
    return {key for key in found if key is not None}


def head(row: MergeRequestRow) -> MergeRequestHeadResponse:
    """What every document about a merge request begins with."""
    return {
        "id": row.id,
        "iid": row.iid,
        "project_id": row.project_id,
        "title": row.title,
        "description": row.description,
        "state": row.state,
        "created_at": moment(row.created_at),
        "updated_at": moment(row.updated_at),
    }


def listed(row: MergeRequestRow, around: Around, standing: Standing | None = None) -> MergeRequestResponse:
    """A merge request as an item of a list; without a `standing` of now it tells what was found at the last look."""
    path = around.projects[row.project_id].full_path
    draft, assignees = is_draft(row.title), around.everybody(row.assignee_ids)
    merged_by = around.person(row.merge_user_id) if row.state == State.MERGED else None
    return {
        **head(row),
        "merged_by": merged_by,
        "merge_user": merged_by or around.person(row.auto_merge_user_id if row.auto_merge else None),
        "merged_at": moment(row.merged_at),
        "closed_by": around.person(row.closed_by_id),
        "closed_at": moment(row.closed_at),
        "target_branch": row.target_branch,
        "source_branch": row.source_branch,
        "user_notes_count": around.notes.get(row.id, 0),
        "upvotes": 0,
        "downvotes": 0,
        "author": around.person(row.author_id),
        "assignees": assignees,
        "assignee": next(iter(assignees), None),
        "reviewers": around.everybody(row.reviewer_ids),
        "source_project_id": row.source_project_id,
        "target_project_id": row.project_id,
        "labels": list(row.labels),
        "draft": draft,
        "work_in_progress": draft,
        "milestone": around.milestone(row.milestone_id),
        "merge_when_pipeline_succeeds": bool(row.auto_merge),
        **_mergeability(row, standing),
        "sha": row.head_sha,
        "merge_commit_sha": row.merge_commit_sha or None if row.state == State.MERGED else None,
        "squash_commit_sha": row.squash_commit_sha or None if row.state == State.MERGED else None,
        "discussion_locked": None,
        "should_remove_source_branch": None,
        "force_remove_source_branch": row.remove_source_branch,
        "prepared_at": moment(row.created_at),
        "reference": f"!{row.iid}",
        "references": {"short": f"!{row.iid}", "relative": f"!{row.iid}", "full": f"{path}!{row.iid}"},
        "web_url": page_of(row, path, around.url),
        "time_stats": _NO_TIME,
        "squash": row.squash,
        "squash_on_merge": row.squash,
        "task_completion_status": {"count": 0, "completed_count": 0},
        "blocking_discussions_resolved": row.id not in around.unresolved,
    }


_NO_TIME: Final[TimeStatsResponse] = {
    "time_estimate": 0,
    "total_time_spent": 0,
    "human_time_estimate": None,
    "human_total_time_spent": None,
}


def _mergeability(row: MergeRequestRow, standing: Standing | None) -> _Mergeability:
    if standing is None:
        detailed = "not_open" if row.state != State.OPENED else "draft_status" if is_draft(row.title) else None
        known = {"can_be_merged": "mergeable", "cannot_be_merged": "conflict"}.get(row.merge_status, "unchecked")
        return {
            "merge_status": row.merge_status,
            "detailed_merge_status": detailed or known,
            "has_conflicts": row.merge_status == "cannot_be_merged",
        }
    words = {None: "unchecked", True: "can_be_merged", False: "cannot_be_merged"}
    return {
        "merge_status": words[standing.goes_together],
        "detailed_merge_status": str(detailed_status(standing)),
        "has_conflicts": standing.goes_together is False,
    }


@dataclass(frozen=True, slots=True)
class Details:
    """What only a single merge request tells. `pipeline` is the head pipeline as the caller may see it."""

    standing: Standing
    changes: str
    pipeline: PipelineRow | None = None
    head_pipeline: PipelineDetailsResponse | None = None
    pipeline_path: str = ""
    can_merge: bool = False


def detailed(row: MergeRequestRow, around: Around, details: Details) -> MergeRequestDetailsResponse:
    """One merge request in full."""
    pipeline = details.pipeline
    return {
        **listed(row, around, details.standing),
        "subscribed": False,
        "changes_count": details.changes,
        "latest_build_started_at": moment(pipeline.started_at) if pipeline is not None else None,
        "latest_build_finished_at": moment(pipeline.finished_at) if pipeline is not None else None,
        "first_deployed_to_production_at": None,
        "pipeline": None if pipeline is None else brief_pipeline(pipeline, details.pipeline_path, around.url),
        "head_pipeline": details.head_pipeline,
        "diff_refs": {
            "base_sha": row.base_sha or None,
            "head_sha": row.head_sha,
            "start_sha": row.start_sha or None,
        },
        "merge_error": row.merge_error or None,
        "rebase_in_progress": False,
        "first_contribution": False,
        "user": {"can_merge": details.can_merge},
    }
