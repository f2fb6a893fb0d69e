"""What was used is counted in parts, which are as large as they may be."""

from hypothesis import given
from hypothesis import strategies as st

from application.pods.tag_sets import _MAX_JOBS, _Parts


@given(st.lists(st.integers(1, 20_000), max_size=300))
def test_every_pipeline_is_in_one_part_and_parts_follow_what_the_last_one_held(jobs: list[int]) -> None:
    """`jobs` are those of each pipeline; the numbers of pipelines are their places."""
    parts, seen = _Parts(range(len(jobs))), []
    for part in parts:
        seen += list(part)
        parts.held(sum(jobs[number] for number in part))
    assert seen == list(range(len(jobs)))


def test_pipelines_of_many_jobs_come_one_by_one_and_small_ones_together() -> None:
    for each, expected in ((20_000, 1), (100, _MAX_JOBS // 100), (1, 1_000)):
        parts, sizes = _Parts(range(5_000)), []
        for part in parts:
            sizes.append(len(part))
            parts.held(each * len(part))
        assert max(sizes[1:]) == expected
