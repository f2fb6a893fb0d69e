"""Events of webhooks, branch filters, what answers mean, and how failing hooks are backed off."""

from datetime import UTC, datetime, timedelta

import pytest

from domain.errors import Invalid
from domain.hooks.webhooks import (
    BITS,
    FLAGS,
    REPORTED,
    SYSTEM_FLAGS,
    TITLES,
    Event,
    Health,
    HookScope,
    Outcome,
    bits_of,
    check_branch_filter,
    flags_of,
    outcome_of,
    passes_branch_filter,
    pause_before,
    title_of,
    trigger_of,
    wants,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_every_event_has_a_flag_a_title_and_a_bit_of_its_own() -> None:
    assert set(FLAGS.values()) == set(TITLES)
    assert {*FLAGS.values(), *SYSTEM_FLAGS.values(), Event.SYSTEM} == set(BITS) == set(Event)
    assert len({*BITS.values(), REPORTED}) == len(Event) + 1
    both = bits_of([Event.PUSH, Event.JOB, Event.JOB])
    assert [event for event in Event if wants(both, event)] == [Event.PUSH, Event.JOB]


@pytest.mark.parametrize(
    ("strategy", "text", "branch", "passes"),
    [
        ("wildcard", "", "any", True),
        ("wildcard", "main", "main", True),
        ("wildcard", "main", "main2", False),
        ("wildcard", "*", "a/b", True),
        ("wildcard", "*-stable", "17-stable", True),
        ("wildcard", "*-stable", "17-stable-x", False),
        ("wildcard", "release/*", "release/1/2", True),
        ("wildcard", "release/*", "my-release/1", False),
        ("wildcard", "a*b*c", "a-b-b-c", True),
        ("wildcard", "a*b*c", "a-c", False),
        ("wildcard", "ab*ba", "aba", False),
        ("wildcard", "a.c", "abc", False),
        ("regex", "^(feature|hotfix)/", "feature/x", True),
        ("regex", "^(feature|hotfix)/", "my-feature/x", False),
        ("regex", "fix", "a-fix-b", True),
        ("all_branches", "main", "other", True),
    ],
)
def test_the_branch_filter(strategy: str, text: str, branch: str, passes: bool) -> None:
    assert passes_branch_filter(strategy, text, branch) is passes


def test_a_wrong_expression_is_refused() -> None:
    check_branch_filter("regex", "^a")
    check_branch_filter("wildcard", "(")
    with pytest.raises(Invalid, match="regular expression"):
        check_branch_filter("regex", "(")


@pytest.mark.parametrize(
    ("status", "passing", "outcome"),
    [
        (200, True, Outcome.DELIVERED),
        (204, True, Outcome.DELIVERED),
        (302, True, Outcome.FAILED),
        (400, True, Outcome.FAILED),
        (401, True, Outcome.FAILED),
        (404, True, Outcome.FAILED),
        (408, True, Outcome.AGAIN),
        (410, True, Outcome.FAILED),
        (429, True, Outcome.AGAIN),
        (500, True, Outcome.AGAIN),
        (503, True, Outcome.AGAIN),
        (None, True, Outcome.AGAIN),
        (None, False, Outcome.FAILED),
    ],
)
def test_what_an_answer_means(status: int | None, passing: bool, outcome: Outcome) -> None:
    assert outcome_of(status, passing=passing) is outcome


def test_pauses_double_up_to_a_limit_and_hear_the_receiver() -> None:
    assert [pause_before(n, 5, 100).total_seconds() for n in range(1, 8)] == [5, 10, 20, 40, 80, 100, 100]
    assert pause_before(10_000, 5, 3600) == timedelta(hours=1)
    assert pause_before(1, 5, 100, "60") == timedelta(seconds=60)
    assert pause_before(1, 5, 100, "6000") == timedelta(seconds=100)
    assert pause_before(1, 5, 100, "Wed, 21 Oct 2026 07:28:00 GMT") == timedelta(seconds=5)


def test_three_failures_are_forgiven_then_the_hook_is_off_for_longer_and_longer() -> None:
    health, now = Health(), NOW
    for _ in range(3):
        health = health.failed(now)
        assert health.alert(now) == "executable"
    waits = []
    for _ in range(13):
        health = health.failed(now)
        assert health.alert(now) == "temporarily_disabled"
        assert health.disabled_until is not None
        assert health.failed(now) == health, "what fails while it is off counts no more"
        waits.append((health.disabled_until - now).total_seconds() / 60)
        now = health.disabled_until + timedelta(seconds=1)
        assert health.alert(now) == "executable"
    assert waits == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 1440, 1440]


def test_the_fortieth_failure_is_the_last() -> None:
    health, now = Health(), NOW
    for number in range(1, 41):
        now += timedelta(days=2)
        health = health.failed(now)
        assert (health.alert(now) == "disabled") is (number == 40)
    assert health.alert(now + timedelta(days=365)) == "disabled"
    assert health.failed(now + timedelta(days=365)) == health


def test_system_hooks_have_one_title_and_events_of_their_own() -> None:
    assert title_of(Event.PUSH, HookScope.SYSTEM) == title_of(Event.SYSTEM, HookScope.SYSTEM) == "System Hook"
    assert (title_of(Event.JOB, HookScope.GROUP), trigger_of(Event.JOB, HookScope.GROUP)) == ("Job Hook", "job_hooks")
    assert trigger_of(Event.PUSH, HookScope.SYSTEM) == "system_hooks"
    assert flags_of(HookScope.GROUP) == flags_of(HookScope.PROJECT) == FLAGS
    assert "pipeline_events" not in flags_of(HookScope.SYSTEM)
