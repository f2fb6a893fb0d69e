"""Why a job does not go on: the words, and that they agree with what decisions do."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.config.plan import When
from domain.errors import NotFound
from domain.pipelines.decisions import next_due
from domain.pipelines.explanation import Cause, Holdup, explain, find_job, overview, unsettled
from domain.pipelines.operations import play_job
from domain.pipelines.pipeline import Job, Pipeline
from domain.pipelines.status import COMPLETE, Status
from domain.pipelines.transitions import Transition, apply_transitions, next_transitions
from tests.domain.pipelines.graphs import NOW, graphs, job, pipeline

LATER = NOW + timedelta(minutes=5)


def why(graph: Pipeline, name: str) -> str:
    """The text about one job."""
    return explain(graph, [graph.by_name[name]], NOW)[0].text


@pytest.mark.parametrize(
    ("item", "text"),
    [
        (job("x", Status.MANUAL), "waits for a person: play it"),
        (job("x", Status.SCHEDULED, due_at=LATER), "is due at 2026-01-01T12:05:00+00:00"),
        (job("x", Status.SCHEDULED, due_at=NOW), "is due; it starts when the pipeline has fewer open jobs"),
        (job("x", Status.WAITING_FOR_RESOURCE, grouped=True), "waits for the slot of its resource group"),
        (job("x", Status.PENDING), "waits for a runner, or one has it by now"),
        (job("x", Status.RUNNING), "a runner has it"),
        (job("x", Status.CANCELING), "its runner was asked to stop it"),
        (job("x", Status.PENDING, bridge=True), "waits until its downstream pipeline is made"),
        (job("x", Status.RUNNING, bridge=True, follows=True), "waits for its downstream pipeline"),
        (job("x", Status.MANUAL, bridge=True, follows=True), "its downstream pipeline waits for a person"),
        (job("x", Status.MANUAL, bridge=True), "waits for a person: play it"),
        (job("x"), "its turn has come; it starts when the pipeline has fewer open jobs"),
        (job("x", Status.FAILED), "has ended"),
    ],
)
def test_a_job_by_itself(item: Job, text: str) -> None:
    assert why(pipeline(item), "x") == text


@pytest.mark.parametrize("needs", [None, ("build", "lint")])
def test_a_job_that_waits_for_others_names_those_that_have_not_ended(needs: tuple[str, ...] | None) -> None:
    graph = pipeline(
        job("build", Status.RUNNING),
        job("lint", Status.SUCCESS),
        job("test", stage=1, needs=needs),
    )
    assert why(graph, "test") == "waits for build (running)"
    assert why(becoming(graph, ("build",), Status.PENDING), "test") == "waits for build (pending or running)"


def test_many_jobs_are_counted() -> None:
    graph = pipeline(*(job(f"j{number}", Status.RUNNING) for number in range(9)), job("last", stage=1))
    (found,) = explain(graph, [graph.by_name["last"]], NOW)
    assert found.text == "waits for j0 (running), j1 (running), j2 (running) and 6 more"
    assert len(found.jobs) == 9


@pytest.mark.parametrize(
    ("before", "when", "needs", "text"),
    [
        ([Status.FAILED], When.ON_SUCCESS, False, "j0 failed"),
        ([Status.FAILED, Status.FAILED], When.ON_SUCCESS, False, "j0, j1 failed"),
        ([Status.FAILED, Status.CANCELED], When.MANUAL, False, "j0 failed and j1 was canceled"),
        ([Status.CANCELED, Status.CANCELED], When.ALWAYS, False, "j0, j1 were canceled"),
        ([Status.SKIPPED, Status.SUCCESS], When.ON_SUCCESS, True, "j0 was skipped"),
        ([Status.FAILED, Status.SKIPPED], When.ON_FAILURE, True, "j1 was skipped"),
        ([Status.SUCCESS], When.ON_FAILURE, False, "nothing before it failed"),
    ],
)
def test_a_skipped_job_names_what_ruled_it_out(before: list[Status], when: When, needs: bool, text: str) -> None:
    prior = [job(f"j{number}", status) for number, status in enumerate(before)]
    names = tuple(item.name for item in prior) if needs else None
    graph = pipeline(*prior, job("x", Status.SKIPPED, stage=1, when=when, needs=names))
    assert why(graph, "x") == f"was skipped because {text}"


def test_an_optional_manual_need_rules_out_what_needs_it() -> None:
    graph = pipeline(job("gate", Status.MANUAL, allow_failure=True), job("x", Status.SKIPPED, stage=1, needs=("gate",)))
    assert why(graph, "x") == "was skipped because gate was not played"


def test_an_attempt_without_a_row_has_no_id() -> None:
    graph = pipeline(job("x"))
    graph = graph.with_jobs([replace(graph.jobs[0], id=-1)])
    (found,) = explain(graph, graph.jobs, NOW)
    assert (found.id, found.text) == (None, "its next attempt is being made")


def test_a_job_is_found_by_name_and_by_id() -> None:
    graph = pipeline(job("a"), job("1"))
    assert find_job(graph, "a") is find_job(graph, 1) is graph.jobs[0]
    assert find_job(graph, "1") is graph.jobs[1]  # a name goes before an id
    assert find_job(graph, "2") is graph.jobs[1]
    for unknown in ("b", 3, "-1"):
        with pytest.raises(NotFound, match="has no job"):
            find_job(graph, unknown)


def test_the_overview_counts() -> None:
    graph = pipeline(
        job("a", Status.SUCCESS),
        job("b", Status.RUNNING, room="room-1"),
        job("c", Status.PENDING, stage=1, room="room-1"),
        job("d", stage=1),
        status=Status.RUNNING,
    )
    seen = overview(graph)
    assert (seen.status, seen.jobs) == (Status.RUNNING, {"success": 1, "running": 1, "pending": 1, "created": 1})
    assert [(stage.name, stage.status, stage.jobs) for stage in seen.stages] == [
        ("s0", Status.RUNNING, 2),
        ("s1", Status.PENDING, 2),
    ]
    assert ([item.name for item in seen.open], seen.rooms) == (["b", "c"], {"room-1": 2})


any_status = st.sampled_from(Status)


@st.composite
def moments(draw: st.DrawFn) -> Pipeline:
    """A pipeline in any state, also one that no order of events leads to."""
    graph = draw(graphs())
    changed = []
    for item in graph.jobs:
        status = draw(any_status)
        due = LATER if status is Status.SCHEDULED else None
        changed.append(replace(item, status=status, due_at=due, grouped=status is Status.WAITING_FOR_RESOURCE))
    return graph.with_jobs(changed)


def explained(graph: Pipeline) -> list[tuple[Job, Holdup]]:
    """Every job about which people ask, with what they are told."""
    jobs = unsettled(graph)
    return list(zip(jobs, explain(graph, jobs, NOW), strict=True))


def becoming(graph: Pipeline, names: tuple[str, ...], status: Status) -> Pipeline:
    """The pipeline with these jobs in another state."""
    return graph.with_jobs(replace(graph.by_name[name], status=status, due_at=None) for name in names)


def moves(graph: Pipeline, item: Job) -> Transition | None:
    """What next becomes of a job."""
    return next((found for found in next_transitions(graph, NOW) if found.job_id == item.id), None)


def item_of(graph: Pipeline, item: Job) -> Job:
    """The same job in another state of the pipeline."""
    return graph.by_name[item.name]


@given(moments())
@settings(max_examples=300)
def test_a_job_moves_on_when_the_jobs_it_is_said_to_wait_for_end_well(graph: Pipeline) -> None:
    graph = graph.with_jobs([replace(graph.jobs[-1], status=Status.CREATED)])
    for item, told in explained(graph):
        if told.cause is not Cause.JOBS:
            continue
        assert told.jobs
        assert moves(becoming(graph, told.jobs, Status.SUCCESS), item) is not None
        for name in told.jobs:  # and each of them alone holds it
            others = tuple(other for other in told.jobs if other != name)
            held = becoming(becoming(graph, others, Status.SUCCESS), (name,), Status.RUNNING)
            assert moves(held, item) is None


@given(moments())
@settings(max_examples=300)
def test_a_job_that_waits_for_no_other_job_moves_by_itself(graph: Pipeline) -> None:
    for item, told in explained(graph):
        if item.status is Status.CREATED and told.cause is not Cause.JOBS:
            found = moves(graph, item)
            assert found is not None
            assert (found.to is Status.SKIPPED) == (told.text == "is about to be skipped")


@given(moments())
@settings(max_examples=300)
def test_what_ruled_a_job_out_would_let_it_run_if_it_had_ended_well(graph: Pipeline) -> None:
    created = tuple(item.name for item in graph.jobs if item.status is Status.CREATED)
    graph = becoming(graph, created, Status.RUNNING)  # nothing but the job itself shall move
    graph = becoming(graph, (graph.jobs[-1].name,), Status.SKIPPED)
    for item, told in explained(graph):
        if told.cause is not Cause.RULED_OUT:
            continue
        again = graph.with_jobs([replace(item, status=Status.CREATED)])
        found = moves(again, item)
        if told.text.endswith("has changed since"):
            assert found is None or found.to is not Status.SKIPPED
            continue
        assert found is not None
        assert found.to is Status.SKIPPED
        if told.jobs:
            better = becoming(again, told.jobs, Status.SUCCESS)
            after = moves(better, item)
            if after is None:  # others that it needs have not ended
                assert explain(better, [item_of(better, item)], NOW)[0].cause is Cause.JOBS
            else:
                assert after.to is not Status.SKIPPED


@given(moments())
@settings(max_examples=200)
def test_persons_times_and_slots_are_what_such_a_job_waits_for(graph: Pipeline) -> None:
    for item, told in explained(graph):
        if told.cause is Cause.PERSON:
            assert moves(graph, item) is None
            assert play_job(graph, item.id).transitions[0].job_id == item.id
        if told.cause is Cause.TIME:
            assert moves(graph, item) is None
            assert next_due(graph) == item.due_at
            assert any(found.job_id == item.id for found in next_transitions(graph, LATER))
        if told.cause is Cause.SLOT:
            assert moves(graph, item) is None
            with_slot = graph.with_jobs([replace(item, slot=True)])
            assert moves(with_slot, item) == Transition(item.id, Status.PENDING)


@given(graphs())
@settings(max_examples=100)
def test_a_pipeline_at_rest_waits_for_something_that_is_named(graph: Pipeline) -> None:
    """Nothing that has come to rest is said to be about to move."""
    graph = apply_transitions(graph, next_transitions(graph, NOW))
    for item, told in explained(graph):
        assert told.cause not in {Cause.TURN, Cause.ROOM}
        assert "has changed since" not in told.text
        assert item.status not in COMPLETE or told.cause is Cause.RULED_OUT
