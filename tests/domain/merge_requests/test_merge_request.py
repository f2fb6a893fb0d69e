"""What stands in the way of a merge, drafts, and who gets secrets."""

from typing import Any

import pytest

from domain.merge_requests.merge_request import (
    Blocker,
    MergeMethod,
    SquashOption,
    Standing,
    State,
    Turn,
    auto_merge_turn,
    blockers,
    changed_labels,
    detailed_status,
    is_draft,
    may_use_secrets,
    own_branch_of,
    squashes,
    with_draft,
)

READY = Standing(State.OPENED, goes_together=True)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, Blocker.MERGEABLE),
        ({"state": State.MERGED}, Blocker.NOT_OPEN),
        ({"draft": True}, Blocker.DRAFT),
        ({"has_commits": False}, Blocker.NO_COMMITS),
        ({"approvals_missing": 1}, Blocker.NOT_APPROVED),
        ({"pipeline": "running"}, Blocker.MERGEABLE),
        ({"pipeline": "running", "pipeline_required": True}, Blocker.CI_RUNNING),
        ({"pipeline": "failed", "pipeline_required": True}, Blocker.CI_MUST_PASS),
        ({"pipeline": "", "pipeline_required": True}, Blocker.CI_MUST_PASS),
        ({"pipeline": "skipped", "pipeline_required": True}, Blocker.CI_MUST_PASS),
        ({"pipeline": "skipped", "pipeline_required": True, "skipped_is_enough": True}, Blocker.MERGEABLE),
        ({"goes_together": None}, Blocker.CHECKING),
        ({"goes_together": False}, Blocker.CONFLICT),
        ({"contains_target": False}, Blocker.MERGEABLE),
        ({"contains_target": False, "method": MergeMethod.FAST_FORWARD}, Blocker.NEEDS_REBASE),
    ],
)
def test_what_stands_in_the_way(change: dict[str, Any], expected: Blocker) -> None:
    fields = {name: getattr(READY, name) for name in Standing.__slots__}
    assert detailed_status(Standing(**{**fields, **change})) is expected


def test_the_first_thing_is_what_people_should_see_to() -> None:
    standing = Standing(State.OPENED, draft=True, approvals_missing=1, goes_together=False)
    assert blockers(standing) == (Blocker.DRAFT, Blocker.NOT_APPROVED, Blocker.CONFLICT)


@pytest.mark.parametrize(
    ("standing", "expected"),
    [
        (READY, Turn.MERGE),
        (Standing(State.OPENED, goes_together=True, pipeline="success"), Turn.MERGE),
        (Standing(State.OPENED, goes_together=True, pipeline="running"), Turn.WAIT),
        (Standing(State.OPENED, goes_together=True, pipeline="failed"), Turn.WAIT),
        (Standing(State.OPENED, goes_together=True, approvals_missing=1), Turn.WAIT),
        (Standing(State.OPENED, goes_together=False), Turn.GIVE_UP),
        (Standing(State.CLOSED, goes_together=True), Turn.GIVE_UP),
    ],
)
def test_what_waits_is_merged_when_nothing_is_in_its_way(standing: Standing, expected: Turn) -> None:
    assert auto_merge_turn(standing) is expected


@pytest.mark.parametrize("title", ["Draft: x", "[Draft] x", "(draft) x", "DRAFT:x"])
def test_titles_say_that_the_work_goes_on(title: str) -> None:
    assert is_draft(title)
    assert with_draft(title, draft=False) == "x"
    assert with_draft(title, draft=True) == title
    assert not is_draft("Drafting a plan")
    assert with_draft("x", draft=True) == "Draft: x"


@pytest.mark.parametrize("missing", ["same_project", "source_protected", "target_protected", "may_run_both"])
def test_all_of_it_is_needed_for_secrets(missing: str) -> None:
    every = dict.fromkeys(("same_project", "source_protected", "target_protected", "may_run_both"), True)
    assert may_use_secrets(**every)
    assert not may_use_secrets(**{**every, missing: False})


def test_a_branch_of_a_fork_is_never_taken_for_one_of_the_project() -> None:
    fork = {"source_branch": "main", "source_project_path": "ada/app"}
    assert own_branch_of("refs/merge-requests/1/head", fork) == "refs/merge-requests/1/head"
    assert own_branch_of("refs/merge-requests/1/head", {**fork, "source_project_path": ""}) == "main"
    assert own_branch_of("main", {}) == "main"


def test_squashing_is_what_the_project_and_people_say() -> None:
    assert squashes(SquashOption.ALWAYS, False)
    assert not squashes(SquashOption.NEVER, True)
    assert squashes(SquashOption.DEFAULT_ON, None)
    assert not squashes(SquashOption.DEFAULT_OFF, None)
    assert squashes(SquashOption.DEFAULT_OFF, True)


def test_labels_come_and_go() -> None:
    assert changed_labels(["a", "b"], ["c", "a", ""], ["b"]) == ["a", "c"]
