"""What people contributed to projects, by GitLab's names: pushes, merge requests, memberships, new projects.

Source of the rules: GitLab's documentation of the events API and of user contribution events.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from domain.merge_requests.news import News


class Action(StrEnum):
    """Values of the filter `action`; what cannot happen here is known too, and finds nothing."""

    CREATED = "created"
    UPDATED = "updated"
    CLOSED = "closed"
    REOPENED = "reopened"
    PUSHED = "pushed"
    COMMENTED = "commented"
    MERGED = "merged"
    JOINED = "joined"
    LEFT = "left"
    DESTROYED = "destroyed"
    EXPIRED = "expired"
    APPROVED = "approved"


MERGE_REQUEST: Final = "MergeRequest"
NOTE: Final = "Note"
TARGETS: Final[Mapping[str, str]] = {
    "issue": "Issue",
    "milestone": "Milestone",
    "merge_request": MERGE_REQUEST,
    "note": NOTE,
    "project": "Project",
    "snippet": "Snippet",
    "user": "User",
    "wiki": "WikiPage::Meta",
    "design": "DesignManagement::Design",
}
"""Values of the filter `target_type`, and what they are called in an event."""

OF_NEWS: Final[Mapping[News, Action]] = {
    News.OPEN: Action.CREATED,
    News.CLOSE: Action.CLOSED,
    News.REOPEN: Action.REOPENED,
    News.MERGE: Action.MERGED,
    News.APPROVED: Action.APPROVED,
    News.APPROVAL: Action.APPROVED,
}
"""News of merge requests that are contributions."""


@dataclass(frozen=True, slots=True)
class Target:
    """What a contribution is about; nothing for a push, a membership or a project."""

    kind: str = ""
    id: int | None = None
    iid: int | None = None
    title: str = ""


@dataclass(frozen=True, slots=True)
class Contribution:
    """Something that somebody did to a project. `push` is GitLab's `push_data`."""

    project_id: int
    author_id: int
    action: Action
    target: Target = field(default_factory=Target)
    push: Mapping[str, Any] = field(default_factory=dict)


_PUSHED: Final = {"created": "pushed new", "removed": "deleted", "pushed": "pushed to"}


def action_name(action: str, target_type: str, push: Mapping[str, Any]) -> str:
    """GitLab's `action_name`."""
    if action == Action.PUSHED:
        return _PUSHED[push["action"]]
    if action == Action.CREATED and target_type:
        return "opened"
    return {Action.MERGED: "accepted", Action.COMMENTED: "commented on"}.get(Action(action), action)


NOTHING: Final = "0"


def push_data(old: str, new: str, name: str, *, tag: bool, count: int, title: str) -> dict[str, Any]:
    """What is told of a ref that was moved."""
    made, gone = not old.strip(NOTHING), not new.strip(NOTHING)
    return {
        "commit_count": count,
        "action": "created" if made else "removed" if gone else "pushed",
        "ref_type": "tag" if tag else "branch",
        "commit_from": None if made else old,
        "commit_to": None if gone else new,
        "ref": name,
        "commit_title": title or None,
        "ref_count": None,
    }


def bulk_push_data(action: str, *, tag: bool, count: int) -> dict[str, Any]:
    """What is told of a push of many refs: how many they were."""
    return {
        "commit_count": 0,
        "action": action,
        "ref_type": "tag" if tag else "branch",
        "commit_from": None,
        "commit_to": None,
        "ref": None,
        "commit_title": None,
        "ref_count": count,
    }
