"""Protected branches and tags: which names a rule covers, and whom it lets do what."""

import pytest

from domain.projects.protection import NOBODY, BranchRule, Movement, Protection, TagRule, fits

DEVELOPER, MAINTAINER = 30, 40

RULES = Protection(
    branches=(
        BranchRule("main", MAINTAINER, MAINTAINER),
        BranchRule("release/*", NOBODY, DEVELOPER),
        BranchRule("shared", DEVELOPER, DEVELOPER, allow_force_push=True),
        BranchRule("*-open", MAINTAINER, MAINTAINER),
        BranchRule("half-*", DEVELOPER, DEVELOPER),
    ),
    tags=(TagRule("v*", MAINTAINER), TagRule("frozen", NOBODY)),
)


@pytest.mark.parametrize(
    ("pattern", "name", "expected"),
    [
        ("main", "main", True),
        ("main", "Main", False),
        ("main", "main2", False),
        ("release/*", "release/1/2", True),
        ("release/*", "release", False),
        ("*", "anything", True),
        ("a.b", "axb", False),
        ("v*.*", "v1.2", True),
        ("v*.*", "v12", False),
        ("main", "refs/heads/main", False),
        ("*", "line\nbreak", True),
    ],
)
def test_a_star_stands_for_anything_and_all_else_for_itself(pattern: str, name: str, expected: bool) -> None:
    assert fits(pattern, name) is expected


@pytest.mark.parametrize(
    ("ref", "tag", "expected"),
    [
        ("main", False, True),
        ("main", True, False),
        ("v1", True, True),
        ("v1", False, False),
        ("refs/heads/main", False, False),
        ("fix", False, False),
    ],
)
def test_branches_and_tags_share_no_rule(ref: str, tag: bool, expected: bool) -> None:
    assert RULES.protects(ref, tag=tag) is expected


@pytest.mark.parametrize(
    ("ref", "movement", "level", "may"),
    [
        ("fix", Movement.FORCE, DEVELOPER, True),
        ("fix", Movement.DELETE, DEVELOPER, True),
        ("main", Movement.UPDATE, DEVELOPER, False),
        ("main", Movement.UPDATE, MAINTAINER, True),
        ("main", Movement.FORCE, MAINTAINER, False),
        ("main", Movement.DELETE, MAINTAINER, False),
        ("main", Movement.MERGE, DEVELOPER, False),
        ("release/1", Movement.UPDATE, MAINTAINER, False),
        ("release/1", Movement.MERGE, DEVELOPER, True),
        ("release/1", Movement.CREATE, MAINTAINER, False),
        ("shared", Movement.FORCE, DEVELOPER, True),
        ("half-open", Movement.UPDATE, DEVELOPER, True),
    ],
)
def test_who_may_move_a_branch(ref: str, movement: Movement, level: int, may: bool) -> None:
    refusal = RULES.refusal(ref, movement, level, tag=False)
    assert (refusal == "") is may
    assert may or ref in refusal


@pytest.mark.parametrize(
    ("ref", "movement", "level", "may"),
    [
        ("v1", Movement.CREATE, DEVELOPER, False),
        ("v1", Movement.CREATE, MAINTAINER, True),
        ("v1", Movement.UPDATE, MAINTAINER, False),
        ("v1", Movement.DELETE, MAINTAINER, False),
        ("frozen", Movement.CREATE, MAINTAINER, False),
        ("main", Movement.CREATE, DEVELOPER, True),
    ],
)
def test_who_may_move_a_tag(ref: str, movement: Movement, level: int, may: bool) -> None:
    assert (RULES.refusal(ref, movement, level, tag=True) == "") is may


@pytest.mark.parametrize(
    ("ref", "tag", "level", "may"),
    [
        ("main", False, DEVELOPER, False),
        ("main", False, MAINTAINER, True),
        ("release/1", False, DEVELOPER, True),
        ("fix", False, DEVELOPER, True),
        ("v1", True, DEVELOPER, False),
        ("v1", False, DEVELOPER, True),
        ("main", True, DEVELOPER, True),
    ],
)
def test_who_may_change_a_protected_ref_may_run_pipelines_on_it(ref: str, tag: bool, level: int, may: bool) -> None:
    assert RULES.may_run(ref, level, tag=tag) is may
