"""What holds for any graph and any order of events when features meet: groups, bridges, failures that cancel, room."""

from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from domain.messages import Decision
from domain.pipelines.decisions import MANY_CHANGES, counts_as_failure, decide
from domain.pipelines.pipeline import Pipeline
from domain.pipelines.portions import portions
from domain.pipelines.status import COMPLETE, OPEN, Status
from tests.domain.pipelines.graphs import NOW, graphs, job, pipeline, statuses
from tests.domain.pipelines.played import FACTS, MAX_TURNS, NEXT, Played
from tests.domain.pipelines.test_decisions import Happenings, happenings, let_happen

facts = st.lists(st.tuples(st.sampled_from(FACTS), st.integers(0, 6)), max_size=14)
outcomes = st.dictionaries(st.tuples(st.integers(0, 6), st.integers(1, 3)), st.sampled_from(["succeed", "fail"]))
"""How attempts end, by the number of the job and of the attempt; what is not named succeeds."""


def with_jobs(graph: Pipeline, **values: Any) -> Pipeline:
    """The same pipeline, with these values in every job."""
    return graph.with_jobs(replace(item, **values) for item in graph.jobs)


@given(graphs(), happenings)
@settings(max_examples=60)
def test_a_job_of_a_group_is_offered_only_with_the_slot_and_one_at_a_time(graph: Pipeline, events: Happenings) -> None:
    def watch(before: Pipeline, decision: Decision) -> None:
        by_id = {item.id: item for item in before.jobs}
        assert all(by_id[offer].slot for offer in decision.offers() if by_id[offer].grouped)
        assert len(decision.takes) <= 1

    played = Played(with_jobs(graph, grouped=True), watch=watch)
    let_happen(played, events)
    assert sum(item.status in OPEN for item in played.folded().jobs) <= 1
    played.finish()
    assert all(item.status in COMPLETE for item in played.pipeline.jobs)


@given(graphs(), happenings)
@settings(max_examples=60)
def test_a_bridge_is_decided_about_like_any_job(graph: Pipeline, events: Happenings) -> None:
    bridges, jobs = Played(with_jobs(graph, bridge=True)), Played(with_jobs(graph, bridge=False))
    for played in (bridges, jobs):
        let_happen(played, events)
    assert statuses(bridges.folded()) == statuses(jobs.folded())  # the end of a bridge is recorded at once
    assert bridges.pipeline.status is jobs.pipeline.status


@given(graphs(), facts)
@settings(max_examples=100)
def test_a_failure_for_good_cancels_all_that_has_not_ended(graph: Pipeline, events: Happenings) -> None:
    played = Played(replace(graph, on_job_failure="all"))
    let_happen(played, events)
    jobs = played.folded().jobs
    if any(counts_as_failure(item) for item in jobs):
        assert all(item.status in COMPLETE for item in jobs)
    else:
        assert all(item.status is not Status.CANCELED for item in jobs)


@given(graphs(), facts)
@settings(max_examples=60)
def test_by_default_a_failure_cancels_nothing(graph: Pipeline, events: Happenings) -> None:
    played = Played(replace(graph, on_job_failure="none"))
    let_happen(played, events)
    played.finish("fail")
    assert all(item.status is not Status.CANCELED for item in played.folded().jobs)


@given(graphs(), outcomes, st.integers(1, 3))
@settings(max_examples=100)
def test_how_much_room_there_is_does_not_change_the_end(
    graph: Pipeline, ends: dict[tuple[int, int], str], room: int
) -> None:
    graph = replace(graph, on_job_failure="none")  # what is canceled depends on what has ended before
    narrow, wide = Played(graph, room=room), Played(graph)
    for played in (narrow, wide):
        played.rest()
        play_out(played, ends)
    assert statuses(narrow.folded()) == statuses(wide.folded())


def play_out(played: Played, ends: dict[tuple[int, int], str]) -> None:
    """End what is open; whenever nothing is, let every delay run out, and then play what waits for a person."""
    for _ in range(MAX_TURNS):
        waiting = [item for item in played.folded().jobs if item.status in OPEN | {Status.SCHEDULED, Status.MANUAL}]
        if not waiting:
            return
        first = min(waiting, key=lambda item: (item.status not in OPEN, item.status is Status.MANUAL))
        how = ends.get((int(first.name[1:]), first.attempt), "succeed")
        played.happen(NEXT[first.status] or how, first)
    raise AssertionError(f"The pipeline does not end: {played.pipeline}")


@given(graphs(), happenings, st.integers(1, 4))
@settings(max_examples=60)
def test_portions_are_the_whole_decision_in_its_order(graph: Pipeline, events: Happenings, most: int) -> None:
    names = ("verdicts", "transitions", "attempts", "takes", "cancel", "redundant")

    def watch(before: Pipeline, decision: Decision) -> None:
        cut = portions(decision, most)
        for name in names:
            assert sum((getattr(portion, name) for portion in cut), ()) == getattr(decision, name)
        assert all(sum(len(getattr(portion, name)) for name in names) <= most for portion in cut)
        assert [bool(portion.answers) for portion in cut[:-1]] == [False] * (len(cut) - 1)
        assert cut[-1].answers == decision.answers

    let_happen(Played(graph, watch=watch), events)


def test_a_turn_with_very_many_changes_is_followed_by_another_one() -> None:
    """In older runs, in which the time of a delayed job brings back what was skipped; now no turn has to be cut."""
    ruled_out = [job(f"j{number}", Status.SKIPPED, stage=1, needs=()) for number in range(MANY_CHANGES)]
    graph = pipeline(job("later", Status.SCHEDULED, due_at=NOW), *ruled_out)
    sizes: list[int] = []
    while (turn := decide(graph, (), (), NOW, due_revives=True)).decision is not None:
        sizes.append(len(turn.decision.transitions))
        graph = turn.pipeline
    assert sizes == [MANY_CHANGES + 1, MANY_CHANGES]
    assert {item.status for item in graph.jobs} == {Status.PENDING}


@given(graphs(), facts)
@settings(max_examples=60)
def test_nothing_that_has_ended_comes_back_of_itself(graph: Pipeline, events: Happenings) -> None:
    """Only somebody who plays or retries a job brings others back."""

    def watch(before: Pipeline, decision: Decision) -> None:
        by_id = {item.id: item for item in before.jobs}
        moved = {transition.job_id for transition in decision.transitions}
        assert [item for item in moved if by_id[item].status in COMPLETE] == []

    let_happen(Played(graph, watch=watch), events)
