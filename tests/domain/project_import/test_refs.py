"""Branches and tags of a project that is imported."""

import pytest

from domain.project_import.refs import differing, plan

A, B = "a" * 40, "b" * 40


def test_what_is_missing_is_pushed_the_default_branch_first() -> None:
    source = {"refs/heads/a": A, "refs/heads/main": A, "refs/tags/v1": A}
    assert plan(source, {}, first="main").push == ("refs/heads/main", "refs/heads/a", "refs/tags/v1")


def test_what_is_here_is_left_alone_and_nothing_is_removed() -> None:
    found = plan({"refs/heads/main": A}, {"refs/heads/main": A, "refs/heads/own": B})
    assert (found.push, found.unchanged, found.not_carried) == ((), ("refs/heads/main",), ())


@pytest.mark.parametrize(
    ("behind", "ahead", "push", "left"), [(True, False, 1, 0), (False, True, 0, 0), (False, False, 0, 1)]
)
def test_a_branch_only_ever_goes_forwards(behind: bool, ahead: bool, push: int, left: int) -> None:
    name = "refs/heads/main"
    found = plan({name: A}, {name: B}, {name} if behind else (), {name} if ahead else ())
    assert (len(found.push), len(found.not_carried)) == (push, left)
    assert all(one.failed for one in found.not_carried)


def test_a_tag_never_moves() -> None:
    (left,) = plan({"refs/tags/v1": A}, {"refs/tags/v1": B}).not_carried
    assert (left.kind, left.name, left.failed) == ("tag", "v1", True)


@pytest.mark.parametrize("name", [A, "b" * 64])
def test_one_that_is_named_like_a_commit_stays_behind(name: str) -> None:
    found = plan({f"refs/heads/{name}": A}, {})
    assert (found.push, [one.failed for one in found.not_carried]) == ((), [False])


@pytest.mark.parametrize(
    ("source", "present", "pushed"),
    [
        (["refs/heads/v1", "refs/tags/v1"], [], ["refs/tags/v1"]),
        (["refs/heads/main", "refs/tags/main"], [], ["refs/heads/main"]),
        (["refs/heads/v1"], ["refs/tags/v1"], []),
        (["refs/tags/v1"], ["refs/heads/v1"], []),
    ],
)
def test_of_a_branch_and_a_tag_of_one_name_one_stays_behind(
    source: list[str], present: list[str], pushed: list[str]
) -> None:
    found = plan(dict.fromkeys(source, A), dict.fromkeys(present, A), first="main")
    assert list(found.push) == pushed
    (left,) = found.not_carried
    assert (left.failed, "which is refused here" in left.reason) == (False, True)


def test_only_branches_of_both_sides_are_compared() -> None:
    source = {"refs/heads/a": A, "refs/heads/b": A, "refs/heads/c": A, "refs/tags/t": A}
    assert differing(source, {"refs/heads/a": B, "refs/heads/b": A, "refs/tags/t": B}) == ["refs/heads/a"]


@pytest.mark.parametrize("name", ["refs/heads/refs/heads/main", "refs/tags/refs/tags/v1", "refs/heads/HEAD"])
def test_one_that_could_be_taken_for_another_stays_behind(name: str) -> None:
    (left,) = plan({name: A}, {}).not_carried
    assert (left.name, left.failed) == (name.split("/", 2)[2], False)
    assert "which is refused here" in left.reason
