"""Frozen snapshots of a pipeline and its jobs, and the graph of needs between them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from domain.config.plan import RetryPolicy, When
from domain.status import COMPLETE, OPEN, Status, composite

NO_RETRY: Final = RetryPolicy()


@dataclass(frozen=True, slots=True)
class Job:
    """The latest attempt of a job, as far as decisions need to know it.

    `stage` is the position of its stage. `needs` is None for a job that waits for the stages before it. `enqueue` makes
    a manual or delayed job start at once (it was retried). `start_in` is seconds. `auto_retry` is false once somebody
    has asked to stop it: it then makes no further attempt by itself.

    `grouped` is true for a job of a resource group; it may be offered only while it holds the group's slot (`slot`).
    `bridge` marks one that triggers a pipeline, `follows` one that has such a pipeline and takes over its status: its
    `manual` is that of the downstream pipeline. `room` is the waiting room that waits for it, empty if its own
    pipeline does.

    A negative id stands for the next attempt of job `-id`, whose row is still to be made.
    """

    id: int
    name: str
    stage: int
    status: Status = Status.CREATED
    when: When = When.ON_SUCCESS
    allow_failure: bool = False
    needs: tuple[str, ...] | None = None
    retry: RetryPolicy = NO_RETRY
    attempt: int = 1
    start_in: int | None = None
    due_at: datetime | None = None
    enqueue: bool = False
    auto_retry: bool = True
    interruptible: bool = False
    grouped: bool = False
    slot: bool = False
    bridge: bool = False
    follows: bool = False
    room: str = ""

    @property
    def enqueued(self) -> Status:
        """What the job becomes when its turn has come: one of a resource group waits for the slot first."""
        return Status.WAITING_FOR_RESOURCE if self.grouped and not self.slot else Status.PENDING

    @property
    def is_open(self) -> bool:
        """Whether an `await_job` activity waits for the job."""
        return self.status in OPEN or (self.follows and self.status is Status.MANUAL)

    @property
    def has_row(self) -> bool:
        """Whether the row is made; nothing can be decided about an attempt that has none."""
        return self.id > 0


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A pipeline at one moment; `jobs` holds only the latest attempt of each, in the order of the configuration.

    `on_new_commit` and `on_job_failure` are those of `workflow:auto_cancel`.
    """

    id: int
    stages: tuple[str, ...]
    jobs: tuple[Job, ...]
    status: Status = Status.CREATED
    on_new_commit: str = "conservative"
    on_job_failure: str = "none"
    by_name: dict[str, Job] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Index the jobs by name."""
        object.__setattr__(self, "by_name", {job.name: job for job in self.jobs})

    def job(self, job_id: int) -> Job | None:
        """The latest attempt with this id, or None."""
        return next((job for job in self.jobs if job.id == job_id), None)

    def with_jobs(self, changed: Iterable[Job]) -> "Pipeline":
        """The same pipeline with these jobs in the place of those of the same name."""
        new = {job.name: job for job in changed}
        return replace(self, jobs=tuple(new.get(job.name, job) for job in self.jobs))

    def needed_by(self, job: Job) -> tuple[Job, ...]:
        """The jobs that `job` needs and that are in the pipeline (an absent optional need simply disappears)."""
        return tuple(self.by_name[name] for name in job.needs or () if name in self.by_name)

    def folded(self, stage: int | None = None) -> Status:
        """Composite status of one stage, or of the whole pipeline."""
        return composite((job.status, job.allow_failure) for job in self.jobs if stage is None or job.stage == stage)

    def is_complete(self) -> bool:
        """Whether nothing more will happen without a command."""
        return self.folded() in COMPLETE


def in_needs_order(pipeline: Pipeline) -> Iterator[Job]:
    """Jobs by stage; within a stage, a job after those that it needs."""
    seen: set[str] = set()
    for position in range(len(pipeline.stages)):
        for job in pipeline.jobs:
            if job.stage == position:
                yield from _after_needs(pipeline, job, seen)


def _after_needs(pipeline: Pipeline, job: Job, seen: set[str]) -> Iterator[Job]:
    waiting = [job]
    while waiting:
        current = waiting[-1]
        if current.name in seen:
            waiting.pop()
            continue
        missing = [need for need in pipeline.needed_by(current) if need.name not in seen and need.stage == job.stage]
        if missing:
            waiting.extend(missing)
        else:
            seen.add(current.name)
            waiting.pop()
            yield current
