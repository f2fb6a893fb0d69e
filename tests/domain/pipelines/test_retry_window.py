"""What a workflow says of its pipeline while it waits for a retry."""

from datetime import UTC, datetime

import pytest

from domain.pipelines.pipeline import Job, Pipeline
from domain.pipelines.retry_window import MAX_NAMED, what_happened, what_may_be_done
from domain.pipelines.status import Status

UNTIL = datetime(2026, 11, 23, 16, 2, 44, tzinfo=UTC)
LIMIT = 20_000
"""Bytes that Temporal takes as details."""


def pipeline(*jobs: Job, status: Status = Status.FAILED) -> Pipeline:
    """Number 17, of two stages."""
    return Pipeline(17, ("build", "test"), jobs, status)


def test_only_jobs_that_count_are_blamed() -> None:
    jobs = (
        Job(1, "lint", 0, Status.FAILED, allow_failure=True),
        Job(2, "make", 0, Status.SUCCESS),
        Job(3, "unit", 1, Status.FAILED),
        Job(4, "ship", 1, Status.SKIPPED),
    )
    assert what_happened(pipeline(*jobs)) == "Pipeline 17 failed: test: unit (job 3)."


def test_a_canceled_pipeline_names_what_was_canceled() -> None:
    jobs = (Job(1, "make", 0, Status.SUCCESS), Job(2, "unit", 1, Status.CANCELED))
    said = what_happened(pipeline(*jobs, status=Status.CANCELED))
    assert said == "Pipeline 17 was canceled: test: unit (job 2)."


def test_what_may_be_sent_fits_the_jobs() -> None:
    jobs = (Job(1, "unit", 0, Status.FAILED), Job(2, "gate", 1, Status.MANUAL, allow_failure=True))
    said = what_may_be_done(pipeline(*jobs), UNTIL)
    assert "Until 2026-11-23 16:02:44 UTC" in said
    assert '- `retry_job` runs one job again: `{"job_id": 1}` is unit' in said
    assert '- `play_job` starts a manual job: `{"job_id": 2}` is gate' in said
    assert "play_job" not in what_may_be_done(pipeline(jobs[0]), UNTIL)
    assert "refused" not in said
    assert "nothing to cancel" in what_may_be_done(pipeline(*jobs), UNTIL, "refused: there is nothing to cancel")


@pytest.mark.parametrize("name", ["x" * 255, "ü" * 255])
def test_a_large_pipeline_is_told_in_few_words(name: str) -> None:
    jobs = [Job(number, f"{number} {name}", 0, Status.FAILED) for number in range(1, 10_001)]
    said = what_may_be_done(pipeline(*jobs), UNTIL, "y" * 1_000)
    assert f"{10_000 - MAX_NAMED} more" in said
    assert len(said.encode()) < LIMIT
