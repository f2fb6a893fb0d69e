"""Pipelines for tests of the core: short to write by hand, or made at random."""

from dataclasses import replace
from datetime import UTC, datetime
from itertools import count, product
from typing import Any, Final

from hypothesis import strategies as st

from domain.config.plan import RetryPolicy, When
from domain.pipelines.pipeline import Job, Pipeline
from domain.pipelines.status import Status

NOW: Final = datetime(2026, 1, 1, 12, tzinfo=UTC)
START_IN: Final = 60
"""Seconds that a random delayed job waits."""
_RARELY: Final = (False, False, False, True)


def job(name: str, status: Status = Status.CREATED, *, stage: int = 0, **values: Any) -> Job:
    """A job; `pipeline()` gives it its id."""
    return Job(id=1, name=name, stage=stage, status=status, **values)


def pipeline(*jobs: Job, status: Status = Status.CREATED) -> Pipeline:
    """A pipeline of these jobs, numbered from 1 as they stand; its stages are called s0, s1 and so on."""
    ids = count(1)
    numbered = tuple(_with_id(item, next(ids)) for item in jobs)
    stages = tuple(f"s{number}" for number in range(max(item.stage for item in jobs) + 1))
    return Pipeline(1, stages, numbered, status)


def _with_id(item: Job, number: int) -> Job:
    values = {name: getattr(item, name) for name in Job.__slots__}
    return Job(**{**values, "id": number})


def statuses(of: Pipeline) -> dict[str, str]:
    """Name to status."""
    return {item.name: str(item.status) for item in of.jobs}


_POSITIONS: Final = st.lists(st.integers(0, 3), min_size=1, max_size=7)
_NAMES: Final = [f"j{number}" for number in range(7)]
_NEEDS: Final = [
    st.none() | (st.lists(st.sampled_from(_NAMES[:number]), unique=True, max_size=3) if number else st.just([]))
    for number in range(7)
]
_TRAITS: Final = st.sampled_from(list(product(When, (False, True), range(3), _RARELY, _RARELY)))
_ON_JOB_FAILURE: Final = st.sampled_from(["none", "none", "all"])


@st.composite
def graphs(draw: st.DrawFn) -> Pipeline:
    """A fresh pipeline: some jobs wait for stages, some for needs in the same or an earlier stage.

    Some trigger a pipeline, some share one resource group, and in some pipelines a failure cancels all.
    """
    jobs: list[Job] = []
    for number, position in enumerate(sorted(draw(_POSITIONS))):
        needs = draw(_NEEDS[number])
        when, allow_failure, retries, bridge, grouped = draw(_TRAITS)
        jobs.append(
            job(
                _NAMES[number],
                stage=position,
                needs=None if needs is None else tuple(needs),
                when=when,
                start_in=START_IN if when is When.DELAYED else None,
                allow_failure=allow_failure,
                retry=RetryPolicy(max=retries),
                bridge=bridge,
                grouped=grouped,
            )
        )
    return replace(pipeline(*jobs), on_job_failure=draw(_ON_JOB_FAILURE))
