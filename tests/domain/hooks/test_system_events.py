"""Which audit events are told to system hooks, and by which name."""

import pytest

from domain.hooks.system_events import event_of


@pytest.mark.parametrize(
    ("kind", "audit_event", "name"),
    [
        ("project", "project_created", "project_create"),
        ("project", "project_forked", "project_create"),
        ("project", "project_removed", "project_destroy"),
        ("group", "group_created", "group_create"),
        ("user", "user_created", "user_create"),
        ("project", "member_added", "user_add_to_team"),
        ("group", "member_added", "user_add_to_group"),
        ("group", "member_removed", "user_remove_from_group"),
        ("project", "variable_added", ""),
        ("user", "member_added", ""),
        ("instance", "hook_created", ""),
    ],
)
def test_each_kind_of_entity_has_its_own_names(kind: str, audit_event: str, name: str) -> None:
    assert event_of(kind, audit_event) == name
