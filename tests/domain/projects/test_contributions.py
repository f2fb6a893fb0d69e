"""What events of people and projects are called."""

import pytest

from domain.projects.contributions import Action, action_name, bulk_push_data, push_data

NONE, OLD, NEW = "0" * 40, "a" * 40, "b" * 40


@pytest.mark.parametrize(
    ("action", "target", "name"),
    [
        (Action.CREATED, "", "created"),
        (Action.CREATED, "MergeRequest", "opened"),
        (Action.MERGED, "MergeRequest", "accepted"),
        (Action.CLOSED, "MergeRequest", "closed"),
        (Action.COMMENTED, "Note", "commented on"),
        (Action.JOINED, "", "joined"),
    ],
)
def test_actions_have_gitlabs_names(action: Action, target: str, name: str) -> None:
    assert action_name(action, target, {}) == name


@pytest.mark.parametrize(
    ("old", "new", "name", "commits"),
    [
        (NONE, NEW, "pushed new", (None, NEW)),
        (OLD, NEW, "pushed to", (OLD, NEW)),
        (OLD, NONE, "deleted", (OLD, None)),
    ],
)
def test_a_push_says_whether_its_ref_is_new_or_gone(
    old: str, new: str, name: str, commits: tuple[str | None, str | None]
) -> None:
    push = push_data(old, new, "main", tag=False, count=2, title="Two")
    assert action_name(Action.PUSHED, "", push) == name
    assert (push["commit_from"], push["commit_to"]) == commits
    assert (push["ref_type"], push["ref"], push["commit_count"], push["commit_title"]) == ("branch", "main", 2, "Two")


def test_many_refs_are_only_counted() -> None:
    push = bulk_push_data("created", tag=True, count=9)
    assert action_name(Action.PUSHED, "", push) == "pushed new"
    assert (push["ref"], push["ref_count"], push["ref_type"]) == (None, 9, "tag")
