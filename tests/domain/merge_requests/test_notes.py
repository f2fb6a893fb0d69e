"""What the server notes by itself on merge requests."""

from types import SimpleNamespace
from typing import Any

import pytest

from domain.merge_requests.news import News
from domain.merge_requests.notes import MAX_COMMITS, mentioned, of_assignees, of_commits, of_news, of_reviewers


def request(**values: Any) -> SimpleNamespace:
    """A merge request as far as notes look at it."""
    return SimpleNamespace(**{"title": "One", "description": "", "target_branch": "main", **values})


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("One", "One", []),
        ("One", "Only", ["changed title from **On{-e-}** to **On{+ly+}**"]),
        ("a b c", "a c", ["changed title from **a {-b -}c** to **a c**"]),
        ("One", "Draft: One", ["marked this merge request as **draft**"]),
        (
            "[Draft] One",
            "Two",
            ["marked this merge request as **ready**", "changed title from **{-One-}** to **{+Two+}**"],
        ),
    ],
)
def test_a_new_title_is_told_with_what_came_and_went(old: str, new: str, said: list[str]) -> None:
    assert of_news(News.UPDATE, request(title=old), request(title=new)) == said


def test_other_changes_and_states_are_told() -> None:
    changed = request(description="why", target_branch="next")
    assert of_news(News.UPDATE, request(), changed) == [
        "changed the description",
        "changed target branch from `main` to `next`",
    ]
    assert of_news(News.OPEN, request(), request()) == []
    draft = request(title="Draft: One")
    assert of_news(News.OPEN, draft, draft) == ["marked this merge request as **draft**"]
    assert of_news(News.MERGE, request(), request()) == ["merged"]


def test_people_are_mentioned() -> None:
    assert [mentioned(["a", "b", "c"][:number]) for number in (1, 2, 3)] == ["@a", "@a and @b", "@a, @b, and @c"]
    assert of_assignees(["a"], ["b", "c"]) == "assigned to @b and @c and unassigned @a"
    assert of_reviewers(["a"], []) == "removed review request for @a"
    assert of_reviewers(["a"], ["a"]) == ""


def test_of_many_commits_only_some_are_listed() -> None:
    assert of_commits([("a" * 40, "x & y")]) == "added 1 commit\n\n<ul><li>aaaaaaaa - x &amp; y</li></ul>"
    assert of_commits([("a" * 40, "x")] * MAX_COMMITS).startswith(f"added {MAX_COMMITS} commits\n")
    many = of_commits([("a" * 40, "x")] * (MAX_COMMITS + 1))
    assert many.startswith(f"added more than {MAX_COMMITS} commits\n")
    assert many.count("<li>") == MAX_COMMITS
