"""What a node of several jobs says."""

from hypothesis import given
from hypothesis import strategies as st

from domain.graphs.counts import counted
from domain.pipelines.status import Status, composite

PAIRS = st.lists(st.tuples(st.sampled_from(Status), st.booleans()), max_size=30)


@given(PAIRS)
def test_each_job_is_counted_once(jobs: list[tuple[Status, bool]]) -> None:
    counts = counted(jobs)
    assert sum(counts.by_state.values()) == counts.total == len(jobs)
    assert counts.status == composite(jobs)
    assert counts.passed == sum(status is Status.SUCCESS for status, _ in jobs)


def test_failures_come_first_and_permitted_ones_are_warnings() -> None:
    jobs = [(Status.SUCCESS, False)] * 12 + [(Status.FAILED, False)] + [(Status.FAILED, True)] * 2
    assert dict(counted(jobs).by_state) == {"failed": 1, "success": 12, "warning": 2}
    assert list(counted(jobs).by_state) == ["failed", "success", "warning"]
