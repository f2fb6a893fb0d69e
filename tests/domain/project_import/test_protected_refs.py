"""Protected branches and tags of a project that is imported."""

from typing import Any

import pytest

from domain.project_import.protected_refs import branches, tags


def role(level: int | None, **more: Any) -> dict[str, Any]:
    """An entry of a rule."""
    return {"id": 1, "access_level": level, "access_level_description": "Somebody", **more}


def branch(name: str = "main", push: Any = (40,), merge: Any = (40,), **more: Any) -> dict[str, Any]:
    """A protected branch as GitLab shows it."""

    def entries(levels: Any) -> list[dict[str, Any]]:
        return [one if isinstance(one, dict) else role(one) for one in levels]

    return {
        "id": 7,
        "name": name,
        "push_access_levels": entries(push),
        "merge_access_levels": entries(merge),
        "allow_force_push": False,
        "code_owner_approval_required": False,
        **more,
    }


def test_a_missing_rule_is_made() -> None:
    (item,) = branches([branch("release/*", push=(0,), merge=(30,), allow_force_push=True)], []).items
    (call,) = item.calls
    assert (call.method, call.route) == ("POST", "/protected_branches")
    assert call.body == {
        "name": "release/*",
        "push_access_level": 0,
        "merge_access_level": 30,
        "allow_force_push": True,
    }


def test_a_rule_that_is_here_is_changed_and_never_taken_away() -> None:
    (item,) = branches([branch("release/*", push=(30,))], [branch("release/*")]).items
    (call,) = item.calls
    assert (call.method, call.route, call.body) == (
        "PATCH",
        "/protected_branches/release%2F%2A",
        {"push_access_level": 30},
    )
    (item,) = tags(
        [{"name": "v*", "create_access_levels": [role(30)]}], [{"name": "v*", "create_access_levels": [role(40)]}]
    ).items
    assert [(call.method, call.route) for call in item.calls] == [("PATCH", "/protected_tags/v%2A")]


def test_a_rule_that_is_the_same_is_left_alone() -> None:
    made = branches([branch()], [branch(id=99, unprotect_access_levels=[role(40)])])
    assert (made.items[0].calls, made.not_carried) == ((), ())


@pytest.mark.parametrize(
    ("entries", "level"),
    [
        ((40,), 40),
        ((30, 40), 30),
        ((0, 40), 40),
        ((0,), 0),
        ((), 0),
        ((60,), 60),
        ((50,), 60),
        ((20,), 30),
        ((90,), 0),
        ((role(40, user_id=5),), 0),
        ((role(40, deploy_key_id=5),), 0),
        ((role(None, group_id=5), 40), 40),
        ((role(30, user_id=5), 40), 40),
        ((role(40, user_id=None, group_id=None),), 40),
    ],
)
def test_what_somebody_in_particular_may_never_opens_a_branch_to_a_role(entries: Any, level: int) -> None:
    (item,) = branches([branch(push=entries)], []).items
    assert item.calls[0].body["push_access_level"] == level


def test_people_groups_and_deploy_keys_are_told() -> None:
    special = (role(40), role(40, deploy_key_id=1), role(None, user_id=5), role(None, group_id=8))
    made = branches([branch(push=special, merge=(role(None, user_id=5),))], [])
    push, merge = made.not_carried
    assert push.count == 3
    for word in ("deploy key 1", "user 5", "group 8", "push"):
        assert word in push.reason
    assert "merge" in merge.reason
    made = tags([{"name": "v*", "create_access_levels": [role(None, user_id=5)]}], [])
    assert ("user 5" in made.not_carried[0].reason, made.items[0].calls[0].body["create_access_level"]) == (True, 0)


@pytest.mark.parametrize(
    "more",
    [
        {"code_owner_approval_required": True},
        {"unprotect_access_levels": [role(60)]},
        {"unprotect_access_levels": [role(None, user_id=3)]},
    ],
)
def test_what_rules_here_do_not_have_is_told(more: dict[str, Any]) -> None:
    (left,) = branches([branch(**more)], []).not_carried
    assert (left.kind, left.name, left.failed) == ("protected_branch", "main", False)


def test_a_rule_that_only_is_here_stays_and_is_told() -> None:
    made = branches([], [branch()])
    assert (made.items, made.not_carried[0].name) == ((), "main")
