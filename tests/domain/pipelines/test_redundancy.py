"""Which older pipelines a newer commit makes redundant, and what it may cancel in them."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.pipelines.operations import CANCELABLE, cancel_job
from domain.pipelines.pipeline import Job, Pipeline
from domain.pipelines.redundancy import DANGLING_SOURCES, Contender, has_started, is_redundant, redundant_jobs
from domain.pipelines.status import COMPLETE, Status
from tests.domain.pipelines.graphs import NOW, graphs, job, pipeline

OLD = Contender(1, 1, "main", False, "aaa", "push", Status.RUNNING, NOW - timedelta(hours=1))
NEW = Contender(2, 1, "main", False, "bbb", "push", Status.CREATED, NOW)
WEEK = timedelta(days=7)


def test_an_older_pipeline_of_the_ref_is_redundant() -> None:
    assert is_redundant(OLD, NEW)


@pytest.mark.parametrize(
    "values",
    [
        {"id": 3},
        {"project_id": 2},
        {"ref": "feature"},
        {"tag": True},
        {"sha": "bbb"},
        {"status": Status.SUCCESS},
        {"status": Status.CANCELED},
        {"created_at": NOW - WEEK - timedelta(seconds=1)},
        {"on_new_commit": "none"},
        {"source": "parent_pipeline"},
        {"source": "webide"},
    ],
    ids=str,
)
def test_others_are_not(values: dict[str, Any]) -> None:
    assert not is_redundant(replace(OLD, **values), NEW)


@pytest.mark.parametrize(
    "values",
    [
        {"status": Status.MANUAL},
        {"status": Status.SCHEDULED},
        {"status": Status.CREATED},
        {"status": Status.WAITING_FOR_RESOURCE},
        {"created_at": NOW - WEEK},
        {"on_new_commit": "interruptible"},
        {"source": "api"},
        {"source": "merge_request_event"},
    ],
    ids=str,
)
def test_whatever_has_not_ended_within_seven_days_is(values: dict[str, Any]) -> None:
    assert is_redundant(replace(OLD, **values), NEW)


@pytest.mark.parametrize("source", sorted(DANGLING_SOURCES))
def test_a_pipeline_that_is_not_of_its_ref_cancels_nothing(source: str) -> None:
    assert not is_redundant(OLD, replace(NEW, source=source))


def test_the_pipeline_of_the_head_stays_although_one_of_an_earlier_commit_comes_after_it() -> None:
    assert is_redundant(OLD, NEW, head="ccc")
    assert not is_redundant(OLD, NEW, head="aaa")


def test_a_tag_that_moved_makes_its_older_pipeline_redundant_and_a_branch_of_that_name_does_not() -> None:
    old, new = replace(OLD, ref="v1", tag=True), replace(NEW, ref="v1", tag=True)
    assert is_redundant(old, new)
    assert not is_redundant(old, replace(new, tag=False))
    assert not is_redundant(replace(old, tag=False), new)


def test_a_merge_request_is_a_ref_of_its_own() -> None:
    request = "refs/merge-requests/7/head"
    old, new = replace(OLD, ref=request, source="merge_request_event"), replace(NEW, source="merge_request_event")
    assert not is_redundant(old, new)
    assert not is_redundant(old, replace(new, ref="refs/merge-requests/7/merge"))
    assert is_redundant(old, replace(new, ref=request))


contenders = st.builds(
    Contender,
    id=st.integers(1, 4),
    project_id=st.integers(1, 2),
    ref=st.sampled_from(["main", "v1"]),
    tag=st.booleans(),
    sha=st.sampled_from("abc"),
    source=st.sampled_from(["push", "api", "parent_pipeline"]),
    status=st.sampled_from(Status),
    created_at=st.sampled_from([NOW, NOW - timedelta(days=6), NOW - timedelta(days=8)]),
    on_new_commit=st.sampled_from(["conservative", "interruptible", "none"]),
)


@given(contenders, contenders)
def test_of_two_pipelines_at_most_the_older_one_is_redundant(one: Contender, other: Contender) -> None:
    assert not is_redundant(one, one)
    assert not (is_redundant(one, other) and is_redundant(other, one))
    if is_redundant(one, other):
        assert one.id < other.id
        assert one.status not in COMPLETE
        assert not is_redundant(one, other, head=one.sha)


def both(first: Status, second: Status = Status.CREATED, **values: Any) -> Pipeline:
    """A job that is not interruptible in one state, one that is in another."""
    jobs = job("deploy", first), job("test", second, stage=1, interruptible=True)
    return replace(pipeline(*jobs), **values)


@pytest.mark.parametrize(
    ("deploy", "canceled"),
    [
        (Status.CREATED, (1, 2)),
        (Status.PENDING, (1, 2)),
        (Status.WAITING_FOR_RESOURCE, (1, 2)),
        (Status.PREPARING, (1, 2)),
        (Status.MANUAL, (1, 2)),
        (Status.SCHEDULED, (1, 2)),
        (Status.SKIPPED, (2,)),
        (Status.CANCELED, (2,)),
        (Status.RUNNING, ()),
        (Status.CANCELING, ()),
        (Status.SUCCESS, ()),
        (Status.FAILED, ()),
    ],
)
def test_conservative_cancels_all_until_a_job_that_is_not_interruptible_starts(
    deploy: Status, canceled: tuple[int, ...]
) -> None:
    assert redundant_jobs(both(deploy, Status.RUNNING)) == canceled


def test_conservative_does_not_mind_interruptible_jobs_that_have_started() -> None:
    for status in Status:
        assert 1 in redundant_jobs(both(Status.CREATED, status)), status


@pytest.mark.parametrize("deploy", Status)
def test_interruptible_cancels_interruptible_jobs_whatever_the_others_do(deploy: Status) -> None:
    for status in Status:
        expected = (2,) if status in CANCELABLE else ()
        assert redundant_jobs(both(deploy, status, on_new_commit="interruptible")) == expected


@pytest.mark.parametrize("deploy", Status)
def test_none_leaves_everything(deploy: Status) -> None:
    assert redundant_jobs(both(deploy, Status.RUNNING, on_new_commit="none")) == ()


def test_a_retried_attempt_does_not_count_as_started() -> None:
    """The failed attempt is not part of the pipeline any more; its successor waits for a runner, or for its row."""
    assert redundant_jobs(both(Status.FAILED)) == ()
    assert redundant_jobs(pipeline(job("deploy", Status.PENDING, attempt=2))) == (1,)
    waiting = replace(job("deploy", attempt=1), id=-7)
    assert redundant_jobs(Pipeline(1, ("s0",), (waiting,))) == (-7,)


def test_a_bridge_that_shows_the_manual_of_its_downstream_pipeline_has_started() -> None:
    assert redundant_jobs(pipeline(job("gate", Status.MANUAL))) == (1,)
    bridge = job("deploy", Status.MANUAL, bridge=True, follows=True)
    assert redundant_jobs(pipeline(bridge)) == ()
    assert redundant_jobs(pipeline(replace(bridge, interruptible=True))) == (1,)


def started_naively(item: Job) -> bool:
    """A second way to say it: neither waiting for anything, nor ended without having run."""
    waiting = {Status.CREATED, Status.WAITING_FOR_RESOURCE, Status.PREPARING, Status.PENDING, Status.SCHEDULED}
    return item.status not in waiting | {Status.SKIPPED, Status.CANCELED, Status.MANUAL}


@given(graphs(), st.data())
def test_what_is_canceled_is_what_the_policy_says(graph: Pipeline, data: st.DataObject) -> None:
    """In any pipeline: only what can be canceled, each job once, all or none of them for `conservative`."""
    jobs = [
        replace(item, status=data.draw(st.sampled_from(Status)), interruptible=data.draw(st.booleans()))
        for item in graph.jobs
    ]
    policy = data.draw(st.sampled_from(["conservative", "interruptible", "none"]))
    graph = replace(graph, jobs=tuple(jobs), on_new_commit=policy)
    found = redundant_jobs(graph)
    able = [item for item in jobs if item.status in CANCELABLE]
    guarded = any(started_naively(item) and not item.interruptible for item in jobs)
    expected = {
        "none": [],
        "interruptible": [item.id for item in able if item.interruptible],
        "conservative": [] if guarded else [item.id for item in able],
    }[policy]
    assert list(found) == expected
    for job_id in found:
        cancel_job(graph, job_id)
    assert all(has_started(item) == started_naively(item) for item in jobs)
