"""Merge requests, who approved them, what happened to them and is not carried out yet, and merge trains."""

from datetime import datetime
from typing import Any, Final

from sqlalchemy import Index, UniqueConstraint
from sqlmodel import SQLModel

from models.columns import COUNTING, document, key, moment, number, number_or_none, only, reference, where_given

TO_MERGE: Final = "merge_request.auto_merge <> ''"
"""Of few merge requests: a statement that says it in these words reads them by an index of their own."""
LOCKED: Final = "merge_request.state = 'locked'"
"""Of those that are being merged: these words, too, have an index of their own."""
ON_ITS_WAY: Final = "train_car.status IN ('idle', 'fresh', 'stale', 'merging')"
"""Of few cars: a statement that says it in these words reads them by an index of their own."""


class MergeRequest(SQLModel, table=True):
    """A branch that shall be merged into one of `project_id`. `iid` counts within that project.

    The source is the same project, a fork of it, or None for a fork that is gone. `state` is one of
    `domain.merge_requests.merge_request.State`. `head_sha` is the source branch's, `base_sha` its last common commit
    with the target, `start_sha` the target's head when that was looked up. `merge_status` says whether the two go
    together, as of the target's head `checked_sha`. `diff_version` counts the changes that it has stood for: one more
    with each push to the source branch, and with another target.

    While it is `locked`, since `locked_at`, the target branch is being moved to `merging_sha`. The commits of the merge
    are there from then on; they count once it is merged. `auto_merge` is the strategy by which it will be merged in the
    name of `auto_merge_user_id` (empty: nobody asked); `merge_options` is how.
    """

    __tablename__ = "merge_request"
    __table_args__ = (
        UniqueConstraint("project_id", "iid"),
        Index("merge_request_by_source", "source_project_id", "source_branch", "state"),
        Index("merge_request_by_target", "project_id", "target_branch", "state"),
        Index("merge_request_by_author", "author_id", "state"),
        Index("merge_request_that_waits", "auto_merge", **only(TO_MERGE)),
        Index("merge_request_of_milestone", "milestone_id"),
        Index("merge_request_locked", "locked_at", **only(LOCKED)),
        COUNTING,
    )

    id: int | None = key()
    iid: int
    project_id: int = reference("project.id")
    source_project_id: int | None = reference("project.id", nullable=True)
    source_branch: str
    target_branch: str
    author_id: int = reference("account.id")
    title: str
    description: str = ""
    state: str = "opened"
    labels: list[str] = document(list)
    milestone_id: int | None = number_or_none()
    assignee_ids: list[int] = document(list)
    reviewer_ids: list[int] = document(list)
    squash: bool = False
    remove_source_branch: bool = False
    head_sha: str
    base_sha: str = ""
    start_sha: str = ""
    diff_version: int = 1
    merge_status: str = "unchecked"
    checked_sha: str = ""
    merging_sha: str = ""
    merge_commit_sha: str = ""
    squash_commit_sha: str = ""
    merge_user_id: int | None = reference("account.id", nullable=True)
    merge_error: str = ""
    auto_merge: str = ""
    auto_merge_user_id: int | None = reference("account.id", nullable=True)
    merge_options: dict[str, Any] = document()
    closed_by_id: int | None = reference("account.id", nullable=True)
    created_at: datetime = moment(nullable=False)
    updated_at: datetime = moment(nullable=False)
    locked_at: datetime | None = moment()
    merged_at: datetime | None = moment()
    closed_at: datetime | None = moment()


class Approval(SQLModel, table=True):
    """Somebody has approved a merge request."""

    __tablename__ = "merge_request_approval"

    merge_request_id: int = reference("merge_request.id", primary_key=True)
    user_id: int = reference("account.id", primary_key=True)
    created_at: datetime = moment(nullable=False)


class MergeRequestEvent(SQLModel, table=True):
    """Something happened to a merge request, and what follows is still to be done; the row goes when it is.

    `kind` is `pipeline` (of the source branch's commit `sha`, in the name of `user_id`) or `remove_branch` (the source
    branch, if it is still at `sha`).
    """

    __tablename__ = "merge_request_event"
    __table_args__ = (COUNTING,)

    id: int | None = key()
    merge_request_id: int = reference("merge_request.id", index=True)
    user_id: int = reference("account.id")
    kind: str
    sha: str
    skip: bool = False
    attempts: int = 0
    error: str = ""
    created_at: datetime = moment(nullable=False)
    not_before: datetime = moment(nullable=False)


class TrainCar(SQLModel, table=True):
    """A merge request on a merge train: that of its target branch, in the order of ids.

    `status` is one of `domain.merge_requests.merge_train.CarStatus`. `sha` is the commit that its pipeline tests:
    `head_sha` of the source branch merged upon `base_sha`, which is the target's head or the `sha` of the car before.
    `version` grows with each change, and whoever changes it says which one it has seen.
    """

    __tablename__ = "train_car"
    __table_args__ = (
        Index("train_of_branch", "project_id", "target_branch", "id"),
        Index("train_car_of_project", "project_id", "id"),
        *where_given("train_car", "pipeline_id"),
        Index("train_car_on_its_way", "project_id", **only(ON_ITS_WAY)),
        COUNTING,
    )

    id: int | None = key()
    project_id: int = reference("project.id")
    target_branch: str
    merge_request_id: int = reference("merge_request.id", index=True)
    user_id: int = reference("account.id")
    status: str = "idle"
    pipeline_id: int | None = reference("pipeline.id", nullable=True)
    head_sha: str = ""
    base_sha: str = ""
    sha: str = ""
    merge_commit_sha: str = ""
    squash_commit_sha: str = ""
    options: dict[str, Any] = document()
    version: int = number()
    created_at: datetime = moment(nullable=False)
    updated_at: datetime = moment(nullable=False)
    merged_at: datetime | None = moment()
