"""Who comes next in a resource group."""

import pytest

from domain.pipelines.resource_groups import MODES, Candidate, ProcessMode, choose, in_order, reachable
from domain.pipelines.status import Status

CREATED, SCHEDULED, WAITING, MANUAL = Status.CREATED, Status.SCHEDULED, Status.WAITING_FOR_RESOURCE, Status.MANUAL
OLDEST, NEWEST = ProcessMode.OLDEST_FIRST, ProcessMode.NEWEST_FIRST


def of(*jobs: tuple[int, int, Status]) -> list[Candidate]:
    """Candidates by (job, pipeline, status)."""
    return [Candidate(*job) for job in jobs]


FOUR_READY = of((40, 4, WAITING), (21, 2, WAITING), (12, 1, WAITING), (33, 3, WAITING))
OLDEST_AND_NEWEST_COME = of((40, 4, SCHEDULED), (33, 3, WAITING), (21, 2, WAITING), (12, 1, CREATED))


@pytest.mark.parametrize(
    ("mode", "ready", "coming"),
    [
        (ProcessMode.UNORDERED, [12, 21, 33, 40], [21, 33]),
        (OLDEST, [12, 21, 33, 40], [12, 21, 33, 40]),
        (NEWEST, [40, 33, 21, 12], [40, 33, 21, 12]),
        (ProcessMode.NEWEST_READY_FIRST, [40, 33, 21, 12], [33, 21]),
    ],
)
def test_each_mode_has_its_order_of_four_pipelines(mode: ProcessMode, ready: list[int], coming: list[int]) -> None:
    assert [candidate.job_id for candidate in in_order(mode, FOUR_READY)] == ready
    assert [candidate.job_id for candidate in in_order(mode, OLDEST_AND_NEWEST_COME)] == coming


@pytest.mark.parametrize(
    ("mode", "chosen"),
    [(ProcessMode.UNORDERED, 21), (OLDEST, None), (NEWEST, None), (ProcessMode.NEWEST_READY_FIRST, 33)],
)
def test_the_slot_is_kept_for_a_job_to_come_where_the_mode_says_so(mode: ProcessMode, chosen: int | None) -> None:
    found = choose(mode, True, OLDEST_AND_NEWEST_COME)
    assert (found and found.job_id) == chosen


@pytest.mark.parametrize("mode", ProcessMode)
def test_nobody_is_chosen_while_the_slot_is_held_or_nobody_is_there(mode: ProcessMode) -> None:
    assert choose(mode, False, FOUR_READY) is None
    assert choose(mode, True, []) is None


@pytest.mark.parametrize("mode", ProcessMode)
def test_a_job_that_waits_for_a_person_keeps_no_slot(mode: ProcessMode) -> None:
    found = choose(mode, True, of((12, 1, MANUAL), (21, 2, WAITING), (30, 3, MANUAL)))
    assert found is not None
    assert found.job_id == 21


@pytest.mark.parametrize("mode", [OLDEST, NEWEST])
def test_within_a_pipeline_what_is_ready_comes_before_what_is_to_come(mode: ProcessMode) -> None:
    found = choose(mode, True, of((1, 7, CREATED), (2, 7, WAITING), (3, 7, WAITING)))
    assert found is not None
    assert found.job_id == 2


def test_a_pipeline_that_cannot_be_told_keeps_nothing_for_its_other_jobs() -> None:
    left = reachable(of((1, 7, WAITING), (2, 7, CREATED), (3, 8, WAITING)), [1, 99])
    assert left == of((3, 8, WAITING))
    assert choose(OLDEST, True, left) == Candidate(3, 8, WAITING)


def test_every_mode_is_in_the_table() -> None:
    assert set(MODES) == set(ProcessMode)
