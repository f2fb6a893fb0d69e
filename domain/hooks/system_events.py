"""What system hooks are told of the installation, and by which audit event it is known.

Source of the rules: GitLab's documentation of system hooks. What cannot happen here (keys, requests for access, renamed
groups, projects that move) is told by nobody.
"""

from collections.abc import Mapping
from typing import Final

OF_PROJECT: Final[Mapping[str, str]] = {
    "project_created": "project_create",
    "project_forked": "project_create",
    "project_changed": "project_update",
    "project_archived": "project_update",
    "project_unarchived": "project_update",
    "project_removed": "project_destroy",
}
OF_GROUP: Final[Mapping[str, str]] = {"group_created": "group_create", "group_removed": "group_destroy"}
OF_USER: Final[Mapping[str, str]] = {"user_created": "user_create"}
OF_MEMBER: Final[Mapping[tuple[str, str], str]] = {
    ("project", "member_added"): "user_add_to_team",
    ("project", "member_changed"): "user_update_for_team",
    ("project", "member_removed"): "user_remove_from_team",
    ("group", "member_added"): "user_add_to_group",
    ("group", "member_changed"): "user_update_for_group",
    ("group", "member_removed"): "user_remove_from_group",
}

ACCESS: Final[Mapping[int, str]] = {10: "Guest", 20: "Reporter", 30: "Developer", 40: "Maintainer", 50: "Owner"}
"""Access levels by GitLab's names."""


def event_of(kind: str, audit_event: str) -> str:
    """GitLab's `event_name` for an audit event of a kind of entity; empty where system hooks hear nothing of it."""
    own = {"project": OF_PROJECT, "group": OF_GROUP, "user": OF_USER}.get(kind, {})
    return own.get(audit_event) or OF_MEMBER.get((kind, audit_event), "")


TEST: Final[Mapping[str, object]] = {
    "event_name": "project_create",
    "name": "Sample",
    "path": "sample",
    "project_id": 1,
    "owner_name": "Someone",
    "owner_email": "someone@example.com",
}
"""What a system hook gets when it is tried out: a project that does not exist, as in GitLab."""
