"""What people ask of a pipeline."""

from collections.abc import Callable

import pytest

from domain.config.plan import When
from domain.errors import NotFound, PerdureError, Refused
from domain.pipelines.operations import (
    CANCELABLE,
    RETRIABLE,
    Attempt,
    Changes,
    cancel_job,
    cancel_pipeline,
    mirror_downstream,
    play_job,
    retry_job,
    retry_pipeline,
    revive_bridge,
    revived,
    unschedule_job,
)
from domain.pipelines.pipeline import Pipeline
from domain.pipelines.status import COMPLETE, Status
from domain.pipelines.transitions import Transition
from tests.domain.pipelines.graphs import job, pipeline

TO_PENDING = Transition(1, Status.PENDING)
OPERATIONS: list[Callable[[Pipeline, int], Changes]] = [play_job, retry_job, cancel_job, unschedule_job]


@pytest.mark.parametrize("status", [Status.MANUAL, Status.SCHEDULED])
def test_play_starts_a_job_that_waits_for_a_person_or_its_time(status: Status) -> None:
    assert play_job(pipeline(job("gate", status)), 1) == Changes((TO_PENDING,))


@pytest.mark.parametrize("status", sorted(RETRIABLE))
def test_play_and_retry_make_a_new_attempt_of_a_finished_job(status: Status) -> None:
    graph = pipeline(job("done", status))
    assert retry_job(graph, 1) == play_job(graph, 1) == Changes(attempts=(Attempt(1, enqueue=True),))


@pytest.mark.parametrize("status", sorted(set(Status) - RETRIABLE))
def test_retry_is_refused_for_a_job_that_has_not_ended_or_was_skipped(status: Status) -> None:
    with pytest.raises(Refused, match=f"Job 1 is {status}; only a finished job"):
        retry_job(pipeline(job("one", status)), 1)


def test_play_revives_what_the_job_had_ruled_out() -> None:
    graph = pipeline(
        job("gate", Status.MANUAL, allow_failure=True),
        job("same stage", Status.SKIPPED, needs=("gate",)),
        job("other", Status.SKIPPED),
        job("later", Status.SKIPPED, stage=1),
    )
    back = (Transition(2, Status.CREATED), Transition(4, Status.CREATED))
    assert play_job(graph, 1).transitions == (TO_PENDING, *back)


def test_revival_reaches_through_jobs_of_any_state_and_touches_only_skipped_ones() -> None:
    graph = pipeline(
        job("root", Status.FAILED),
        job("passed", Status.SUCCESS, needs=("root",)),
        job("far", Status.SKIPPED, needs=("passed",)),
        job("canceled", Status.CANCELED, stage=1),
        job("failed", Status.FAILED, stage=1),
        job("manual", Status.MANUAL, stage=1),
    )
    assert revived(graph, [graph.jobs[0]]) == (Transition(3, Status.CREATED),)


def test_revival_begins_after_the_earliest_stage() -> None:
    graph = pipeline(
        job("a", Status.SKIPPED),
        job("b", stage=1),
        job("c", Status.SKIPPED, stage=1),
        job("d", stage=2),
        job("e", Status.SKIPPED, stage=2),
    )
    assert [t.job_id for t in revived(graph, [graph.jobs[1], graph.jobs[3]])] == [5]


def test_retry_of_a_pipeline_renews_failed_and_canceled_jobs_and_revives_skipped_ones() -> None:
    graph = pipeline(
        job("fine", Status.SUCCESS),
        job("bad", Status.FAILED),
        job("warned", Status.FAILED, allow_failure=True),
        job("stopped", Status.CANCELED, when=When.MANUAL),
        job("ruled out", Status.SKIPPED, stage=1),
    )
    assert retry_pipeline(graph) == Changes(
        (Transition(5, Status.CREATED),), tuple(Attempt(number, enqueue=False) for number in (2, 3, 4))
    )


@pytest.mark.parametrize("status", sorted(CANCELABLE))
def test_every_job_that_has_not_ended_can_be_canceled(status: Status) -> None:
    graph = pipeline(job("one", status), job("done", Status.SUCCESS))
    assert cancel_job(graph, 1) == cancel_pipeline(graph) == Changes(cancel=(1,))


@pytest.mark.parametrize("status", [*sorted(COMPLETE), Status.CANCELING])
def test_there_is_nothing_to_cancel_in_what_has_ended_or_is_stopping(status: Status) -> None:
    graph = pipeline(job("one", status))
    with pytest.raises(Refused, match="nothing to cancel"):
        cancel_job(graph, 1)
    with pytest.raises(Refused, match="nothing to cancel"):
        cancel_pipeline(graph)


def test_unscheduling_makes_a_job_wait_for_a_person() -> None:
    assert unschedule_job(pipeline(job("later", Status.SCHEDULED)), 1).transitions == (Transition(1, Status.MANUAL),)
    with pytest.raises(Refused, match="only a scheduled job"):
        unschedule_job(pipeline(job("later", Status.PENDING)), 1)


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("job_id", [2, 0, -1])
def test_only_latest_attempts_with_a_row_can_be_asked_for(
    operation: Callable[[Pipeline, int], Changes], job_id: int
) -> None:
    with pytest.raises(NotFound, match="not the latest attempt"):
        operation(pipeline(job("one", Status.FAILED)), job_id)


def test_a_pipeline_in_which_all_went_well_has_nothing_to_retry() -> None:
    with pytest.raises(PerdureError, match="no failed, canceled or skipped job"):
        retry_pipeline(pipeline(job("one", Status.SUCCESS)))


def test_a_bridge_that_follows_takes_over_what_its_downstream_pipeline_waits_for() -> None:
    graph = pipeline(
        job("bridge", Status.RUNNING, bridge=True, follows=True), job("other", Status.RUNNING, bridge=True)
    )
    assert mirror_downstream(graph, 1, "manual") == Changes((Transition(1, Status.MANUAL),))
    with pytest.raises(Refused, match="Job 1 is running; it does not take over success"):
        mirror_downstream(graph, 1, "success")
    with pytest.raises(Refused, match="Job 2 is running; it does not take over manual"):
        mirror_downstream(graph, 2, "manual")


@pytest.mark.parametrize("status", sorted(COMPLETE - {Status.SKIPPED}))
def test_a_finished_bridge_follows_its_downstream_pipeline_again(status: Status) -> None:
    graph = pipeline(job("bridge", status, bridge=True), job("after", Status.SKIPPED, stage=1))
    changes = revive_bridge(graph, 1)
    assert changes.attempts == (Attempt(1, follows=True),)
    assert changes.transitions == revived(graph, [graph.jobs[0]]) == (Transition(2, Status.CREATED),)


@pytest.mark.parametrize(
    ("status", "bridge"), [(Status.RUNNING, True), (Status.SKIPPED, True), (Status.SUCCESS, False)]
)
def test_only_a_finished_bridge_follows_again(status: Status, bridge: bool) -> None:
    with pytest.raises(Refused, match=f"Job 1 is {status}; only a finished bridge"):
        revive_bridge(pipeline(job("one", status, bridge=bridge)), 1)
