"""Why an operation on a job is refused: the state, what is missing, and what may be done instead."""

from collections.abc import Callable
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.config.plan import When
from domain.errors import Refused
from domain.pipelines.operations import Changes, cancel_job, play_job, retry_job, unschedule_job
from domain.pipelines.pipeline import Pipeline
from domain.pipelines.status import Status
from tests.domain.pipelines.graphs import NOW, job, pipeline

OPERATIONS: dict[str, Callable[[Pipeline, int], Changes]] = {
    "play": play_job,
    "retry": retry_job,
    "cancel": cancel_job,
    "unschedule": unschedule_job,
}


def refused(of: Pipeline, job_id: int, verb: str) -> str:
    """The words of the refusal."""
    with pytest.raises(Refused) as raised:
        OPERATIONS[verb](of, job_id)
    return str(raised.value)


def test_playing_a_manual_job_before_its_turn_names_the_stages_that_are_missing() -> None:
    graph = pipeline(
        job("compile", Status.RUNNING),
        job("link", Status.SUCCESS),
        job("unit", Status.CREATED, stage=1),
        job("ship", stage=2, when=When.MANUAL),
    )
    assert refused(graph, 4, "play") == (
        "Job 4 is created; only a manual, scheduled or finished job can be played. It waits for stages s0, s1: "
        "compile (running), unit (created). You can play it when they have ended, or cancel it now."
    )


def test_playing_a_manual_job_before_its_turn_names_the_needs_that_are_missing() -> None:
    graph = pipeline(
        job("compile", Status.PENDING),
        job("lint", Status.RUNNING),
        job("ship", stage=1, when=When.MANUAL, needs=("compile",)),
    )
    assert refused(graph, 3, "play") == (
        "Job 3 is created; only a manual, scheduled or finished job can be played. It waits for jobs that it needs: "
        "compile (pending or running). You can play it when they have ended, or cancel it now."
    )


@pytest.mark.parametrize(
    ("status", "verb", "words"),
    [
        (Status.PENDING, "play", "It waits for a runner, or one has it by now. You can cancel it."),
        (Status.RUNNING, "retry", "A runner has it. You can cancel it."),
        (Status.CANCELING, "cancel", "Its runner was asked to stop it. You can retry it."),
        (Status.SUCCESS, "cancel", "Job 1 is success; there is nothing to cancel. You can retry it."),
        (Status.MANUAL, "unschedule", "It waits for a person: play it. You can play or cancel it."),
        (Status.SCHEDULED, "retry", f"It is due at {NOW.isoformat()}. You can play it now, unschedule it"),
        (Status.WAITING_FOR_RESOURCE, "play", "It waits for the slot of its resource group. You can cancel it."),
    ],
)
def test_a_refusal_says_how_the_job_stands_and_what_can_be_done(status: Status, verb: str, words: str) -> None:
    assert words in refused(pipeline(job("one", status, due_at=NOW)), 1, verb)


def test_a_skipped_job_is_told_what_ruled_it_out() -> None:
    graph = pipeline(job("test", Status.FAILED), job("ship", Status.SKIPPED, stage=1))
    said = refused(graph, 2, "play")
    assert "It was skipped because test failed. Retry or play what ruled it out" in said


@given(st.sampled_from(sorted(OPERATIONS)), st.sampled_from(list(Status)), st.sampled_from(list(When)), st.booleans())
def test_what_a_refusal_offers_is_not_refused(verb: str, status: Status, when: When, bridge: bool) -> None:
    graph = pipeline(job("first", Status.RUNNING), job("one", status, stage=1, when=when, bridge=bridge))
    with suppress(Refused):
        OPERATIONS[verb](graph, 2)
        return
    said = refused(graph, 2, verb)
    assert said.startswith(f"Job 2 is {status}; ")
    _, _, offered = said.rpartition("You can ")
    now = offered.replace("play it when they have ended, or ", "") if "You can" in said else ""
    for other, operation in OPERATIONS.items():
        if f"{other} it" in now or f"{other} or" in now:
            operation(graph, 2)
