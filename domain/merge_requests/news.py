"""What of merge requests is told to others: kinds of news, what was changed, GitLab's numbers of states.

Source of the rules: GitLab's documentation of webhook events ("Merge request events").
"""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from domain.merge_requests.merge_request import State, is_draft


class News(StrEnum):
    """GitLab's `action`. An approval is `approved` when no more are needed, else `approval`; so for one taken back."""

    OPEN = "open"
    CLOSE = "close"
    REOPEN = "reopen"
    UPDATE = "update"
    APPROVED = "approved"
    APPROVAL = "approval"
    UNAPPROVED = "unapproved"
    UNAPPROVAL = "unapproval"
    MERGE = "merge"


def of_approval(*, is_enough: bool) -> News:
    """The news of an approval; `is_enough` is whether no more are needed with it."""
    return News.APPROVED if is_enough else News.APPROVAL


def of_withdrawal(*, was_enough: bool) -> News:
    """The news of an approval that was taken back; `was_enough` is whether no more were needed before."""
    return News.UNAPPROVED if was_enough else News.UNAPPROVAL


STATE_IDS: Final[Mapping[State, int]] = {State.OPENED: 1, State.CLOSED: 2, State.MERGED: 3, State.LOCKED: 4}
"""GitLab's `state_id`."""

KEPT: Final = (
    "id",
    "iid",
    "source_project_id",
    "source_branch",
    "target_branch",
    "author_id",
    "title",
    "description",
    "state",
    "labels",
    "milestone_id",
    "assignee_ids",
    "reviewer_ids",
    "head_sha",
    "merge_status",
    "merge_commit_sha",
    "squash_commit_sha",
    "merge_user_id",
    "merge_error",
    "auto_merge",
    "remove_source_branch",
    "created_at",
    "updated_at",
    "merged_at",
)
"""Columns of a merge request that are told; facts of older processes lack the last ones."""

_COMPARED: Final = (
    "title",
    "description",
    "target_branch",
    "labels",
    "milestone_id",
    "assignee_ids",
    "reviewer_ids",
    "updated_at",
)


def kept(row: Any) -> dict[str, Any]:
    """The columns that are told, fit for JSON."""
    return {name: _plain(getattr(row, name)) for name in KEPT}


def changes(before: Any, after: Any) -> dict[str, list[Any]]:
    """What differs between two moments of a merge request, by GitLab's names: before and after, fit for JSON."""
    found = {name: [getattr(before, name), getattr(after, name)] for name in _COMPARED}
    found["state_id"] = [STATE_IDS[State(before.state)], STATE_IDS[State(after.state)]]
    found["draft"] = [is_draft(before.title), is_draft(after.title)]
    return {name: [_plain(old), _plain(new)] for name, (old, new) in found.items() if old != new}


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return list(value) if isinstance(value, tuple | list) else value
