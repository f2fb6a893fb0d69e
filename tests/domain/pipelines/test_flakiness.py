"""Which tests count as flaky."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.pipelines.flakiness import CHANGES, RECENT, WINDOW, WORDS, Flaky, JudgedRun, flakiness

NOW = datetime(2026, 6, 1, tzinfo=UTC)


def runs(
    ends: str, *, among_many: bool = False, on_default: bool = True, age: timedelta = RECENT / 2
) -> list[JudgedRun]:
    """Runs, the newest first: `+` passed, `-` failed; each on a commit of its own, where no digit says which."""
    found = []
    for place, (end, commit) in enumerate(zip(ends[::2], ends[1::2], strict=True)):
        sha = commit if commit != "." else f"c{place}"
        found.append(JudgedRun(end == "+", sha, on_default, among_many, NOW - age))
    return found


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        ("", None),
        ("+1", None),
        ("-1", None),
        ("+1-1", Flaky.SAME_COMMIT),
        ("-1+1", Flaky.SAME_COMMIT),
        ("+1+2-3+4-1", Flaky.SAME_COMMIT),
        ("+1+1-2-2", None),
        ("-.-.-.-.-.-.", None),
        ("+.-.", None),
        ("+.-.+.", None),
        ("-.+.-.+.", None),
        ("+.-.+.-.+.", Flaky.ALTERNATES),
        ("+.+.-.-.+.-.-.+.", Flaky.ALTERNATES),
        ("+." * (WINDOW - 3) + "-.+.-.+.-.", None),
        ("+." * (WINDOW - 5) + "-.+.-.+.-.", Flaky.ALTERNATES),
    ],
)
def test_the_rule(ends: str, expected: Flaky | None) -> None:
    assert flakiness(runs(ends), NOW) is expected


def test_what_is_old_or_among_many_failures_tells_nothing() -> None:
    ends = "+1-1+.-.+.-."
    assert flakiness(runs(ends), NOW) is not None
    assert flakiness(runs(ends, age=RECENT), NOW) is None
    assert flakiness(runs(ends, among_many=True), NOW) is None


def test_branches_differ_without_being_flaky() -> None:
    assert flakiness(runs("+.-.+.-.+.-.", on_default=False), NOW) is None
    assert flakiness(runs("+1-1", on_default=False), NOW) is Flaky.SAME_COMMIT


@given(st.lists(st.booleans(), max_size=30))
def test_who_never_changes_is_never_flaky(ends: list[bool]) -> None:
    found = [JudgedRun(end, str(place), True, False, NOW) for place, end in enumerate(ends)]
    changed = sum(one is not other for one, other in pairwise(ends[:WINDOW]))
    assert flakiness(found, NOW) is (Flaky.ALTERNATES if changed >= CHANGES else None)


def test_each_reason_has_words() -> None:
    assert set(WORDS) == set(Flaky)
