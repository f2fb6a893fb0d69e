"""What the state of a pipeline and the time permit."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given, settings

from domain.config.plan import When
from domain.pipelines.pipeline import Pipeline
from domain.pipelines.status import Status
from domain.pipelines.transitions import Transition, apply_transitions, next_transitions
from tests.domain.pipelines.graphs import NOW, START_IN, graphs, job, pipeline, statuses

STARTS = {
    When.ON_SUCCESS: "pending",
    When.ON_FAILURE: "pending",
    When.ALWAYS: "pending",
    When.MANUAL: "manual",
    When.DELAYED: "scheduled",
}
ALL_SUCCESS = frozenset({When.ON_SUCCESS, When.MANUAL, When.DELAYED, When.ALWAYS})
BEFORE_BY_STAGE = {
    "success": ALL_SUCCESS,
    "skipped": ALL_SUCCESS,
    "failed": frozenset({When.ON_FAILURE, When.ALWAYS}),
    "canceled": frozenset(),
}
BEFORE_BY_NEEDS = {**BEFORE_BY_STAGE, "skipped": frozenset({When.ALWAYS})}


def after(graph: Pipeline) -> dict[str, str]:
    """Statuses once everything that follows has been taken."""
    while found := next_transitions(graph, NOW):
        graph = apply_transitions(graph, found)
    return statuses(graph)


@pytest.mark.parametrize("when", list(When))
@pytest.mark.parametrize("before", sorted(BEFORE_BY_STAGE))
def test_what_earlier_stages_became_decides(when: When, before: str) -> None:
    graph = pipeline(job("first", Status(before)), job("next", stage=1, when=when, start_in=START_IN))
    assert after(graph)["next"] == (STARTS[when] if when in BEFORE_BY_STAGE[before] else "skipped")


@pytest.mark.parametrize("when", list(When))
@pytest.mark.parametrize("before", sorted(BEFORE_BY_NEEDS))
def test_what_the_needs_became_decides(when: When, before: str) -> None:
    graph = pipeline(job("first", Status(before)), job("next", needs=("first",), when=when, start_in=START_IN))
    assert after(graph)["next"] == (STARTS[when] if when in BEFORE_BY_NEEDS[before] else "skipped")


@pytest.mark.parametrize("status", ["created", "pending", "running", "canceling", "scheduled", "manual"])
@pytest.mark.parametrize("needs", [None, ("first",)])
def test_a_job_waits_while_one_before_it_has_not_ended(status: str, needs: tuple[str, ...] | None) -> None:
    held = job("hold", Status.RUNNING)
    first = job("first", Status(status), needs=("hold",))
    assert after(pipeline(held, first, job("next", stage=1, needs=needs)))["next"] == "created"


def test_an_optional_manual_job_holds_stages_not_but_rules_out_its_dependants() -> None:
    gate = job("gate", Status.MANUAL, allow_failure=True)
    graph = pipeline(gate, job("by stage", stage=1), job("by need", stage=1, needs=("gate",)))
    assert after(graph) == {"gate": "manual", "by stage": "pending", "by need": "skipped"}


def test_an_allowed_failure_counts_as_success() -> None:
    flaky = job("flaky", Status.FAILED, allow_failure=True)
    graph = pipeline(flaky, job("tidy", stage=1, when=When.ON_FAILURE), job("go on", stage=1))
    assert after(graph) == {"flaky": "failed", "tidy": "skipped", "go on": "pending"}


def test_on_failure_without_anything_before_it_is_skipped_at_once() -> None:
    graph = pipeline(job("panic", when=When.ON_FAILURE), job("panic too", stage=1, when=When.ON_FAILURE, needs=()))
    assert after(graph) == {"panic": "skipped", "panic too": "skipped"}


def test_a_failed_and_a_skipped_need_keep_on_failure_from_running() -> None:
    graph = pipeline(
        job("bad", Status.FAILED),
        job("gone", Status.SKIPPED),
        job("undo", stage=1, when=When.ON_FAILURE, needs=("bad", "gone")),
    )
    assert after(graph)["undo"] == "skipped"


def test_always_does_not_wait_for_other_needs_once_one_is_skipped() -> None:
    """One skipped need is enough for the fold to be complete (docs/reference/pipelines.md, "Composite status")."""
    graph = pipeline(
        job("gone", Status.SKIPPED),
        job("busy", Status.RUNNING),
        job("report", stage=1, when=When.ALWAYS, needs=("gone", "busy")),
    )
    assert after(graph)["report"] == "pending"


def test_a_skipped_job_rules_out_its_dependants_in_the_same_call() -> None:
    graph = pipeline(
        job("bad", Status.FAILED), job("a", stage=1), job("b", stage=1, needs=("a",)), job("c", stage=2, needs=("b",))
    )
    found = next_transitions(graph, NOW)
    assert found == tuple(Transition(number, Status.SKIPPED) for number in (2, 3, 4))


def test_a_delayed_job_is_scheduled_and_becomes_due() -> None:
    graph = pipeline(job("later", when=When.DELAYED, start_in=START_IN))
    due = NOW + timedelta(seconds=START_IN)
    scheduled = apply_transitions(graph, next_transitions(graph, NOW))
    assert scheduled.jobs[0].due_at == due
    assert next_transitions(scheduled, due - timedelta(seconds=1)) == ()
    assert next_transitions(scheduled, due) == (Transition(1, Status.PENDING),)


@pytest.mark.parametrize("when", [When.MANUAL, When.DELAYED])
def test_a_retried_manual_or_delayed_job_starts_at_once(when: When) -> None:
    assert after(pipeline(job("again", when=when, enqueue=True, start_in=START_IN))) == {"again": "pending"}


def test_nothing_is_decided_about_an_attempt_without_a_row() -> None:
    graph = pipeline(job("gate", when=When.MANUAL, allow_failure=True), job("next", stage=1))
    without_row = replace(graph.jobs[0], id=-1)
    assert next_transitions(graph.with_jobs([without_row]), NOW) == ()
    assert next_transitions(graph, NOW) == (Transition(1, Status.MANUAL), Transition(2, Status.PENDING))


@given(graphs())
@settings(max_examples=60)
def test_taking_every_transition_comes_to_rest_at_once(graph: Pipeline) -> None:
    found = next_transitions(graph, NOW)
    assert len({transition.job_id for transition in found}) == len(found)
    assert next_transitions(apply_transitions(graph, found), NOW) == ()
