"""Snapshots of pipelines and the graph of needs."""

import pytest
from hypothesis import given

from domain.pipelines.pipeline import Job, Pipeline
from domain.pipelines.status import Status
from tests.domain.pipelines.graphs import graphs, job, pipeline


def in_order(graph: Pipeline) -> list[Job]:
    """The jobs as decisions walk them."""
    return [graph.jobs[position] for position in graph.needs.order]


@given(graphs())
def test_needs_order_gives_every_job_once_by_stage_and_after_its_needs(graph: Pipeline) -> None:
    order = in_order(graph)
    assert sorted(item.name for item in order) == sorted(graph.by_name)
    assert [item.stage for item in order] == sorted(item.stage for item in graph.jobs)
    seen: set[str] = set()
    for item in order:
        assert seen.issuperset(item.needs or ())
        seen.add(item.name)


def test_needs_order_holds_within_a_stage_whatever_the_order_of_the_text() -> None:
    graph = pipeline(job("last", needs=("middle",)), job("middle", needs=("first",)), job("first"))
    assert [item.name for item in in_order(graph)] == ["first", "middle", "last"]


def test_an_absent_need_disappears() -> None:
    graph = pipeline(job("here"), job("dependant", needs=("here", "ruled out")))
    assert [item.name for item in graph.needed_by(graph.by_name["dependant"])] == ["here"]


def test_changed_jobs_take_the_place_of_those_of_the_same_name() -> None:
    graph = pipeline(job("one"), job("two"))
    changed = graph.with_jobs([job("two", Status.RUNNING)])
    assert [item.name for item in changed.jobs] == ["one", "two"]
    assert changed.by_name["two"].status is Status.RUNNING
    assert graph.by_name["two"].status is Status.CREATED


def test_a_job_is_found_by_the_id_of_its_latest_attempt() -> None:
    graph = pipeline(job("one"), job("two"))
    found = graph.job(2)
    assert found is not None
    assert found.name == "two"
    assert graph.job(3) is None


@pytest.mark.parametrize(
    ("status", "allowed", "complete"),
    [
        (Status.SUCCESS, False, True),
        (Status.FAILED, False, True),
        (Status.MANUAL, True, True),
        (Status.MANUAL, False, False),
        (Status.SCHEDULED, True, False),
        (Status.CREATED, False, False),
        (Status.CANCELING, False, False),
    ],
)
def test_a_pipeline_is_complete_when_nothing_more_happens_by_itself(
    status: Status, allowed: bool, complete: bool
) -> None:
    assert pipeline(job("one", status, allow_failure=allowed)).is_complete() is complete


def test_a_stage_folds_only_its_own_jobs() -> None:
    graph = pipeline(job("one", Status.SUCCESS), job("two", Status.FAILED, stage=1))
    assert graph.folded(0) is Status.SUCCESS
    assert graph.folded(1) is Status.FAILED
    assert graph.folded() is Status.FAILED
