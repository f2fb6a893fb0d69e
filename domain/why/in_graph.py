"""What holds jobs up in their pipeline, found for many: those that wait for the same are looked at once."""

from collections.abc import Hashable
from dataclasses import replace
from datetime import datetime
from typing import Final

from domain.pipelines.explanation import Holdup, explain
from domain.pipelines.pipeline import Job, Pipeline
from domain.pipelines.refusals import standing_of
from domain.pipelines.status import Status
from domain.why.explanation import sentence
from domain.why.known import InGraph, OtherJob

MAX_OTHERS: Final = 10
"""Facts name so many other jobs and count the rest: all jobs of a stage may wait for all of the one before."""
_BY_STAGE: Final = frozenset({Status.CREATED, Status.SKIPPED})
"""States of which the reason is the same for all jobs of a stage that need no others by name."""


class Graph:
    """A pipeline at a moment, with what holds its jobs up."""

    def __init__(self, pipeline: Pipeline, now: datetime) -> None:
        """Costs as much as there are jobs."""
        self._pipeline, self._now = pipeline, now
        self._by_id = {job.id: job for job in pipeline.jobs}
        self._by_name = pipeline.by_name
        self._known: dict[Hashable, InGraph] = {}

    def look(self, job_id: int) -> InGraph | None:
        """What holds a job up; None for one that is not the latest attempt of any."""
        job = self._by_id.get(job_id)
        if job is None:
            return None
        is_alike = job.needs is None and job.status in _BY_STAGE
        key: Hashable = (job.status, job.when, job.stage) if is_alike else job.id
        if key not in self._known:
            (holdup,) = explain(self._pipeline, [job], self._now)
            self._known[key] = self._seen(job, holdup)
        return replace(self._known[key], job=job)

    def _seen(self, job: Job, holdup: Holdup) -> InGraph:
        named = (self._by_name[name] for name in holdup.jobs[:MAX_OTHERS])
        others = tuple(OtherJob(one.id, one.name, one.status, self._pipeline.id, one.allow_failure) for one in named)
        text = sentence(standing_of(self._pipeline, job, holdup))
        return InGraph(job, holdup.cause, text, others, len(holdup.jobs) - len(others))
