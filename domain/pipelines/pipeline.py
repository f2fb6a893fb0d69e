"""Frozen snapshots of a pipeline and its jobs, and the graph of needs between them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from domain.config.plan import RetryPolicy, When
from domain.pipelines.status import COMPLETE, OPEN, Status, composite

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
class Needs:
    """What never changes while a pipeline runs, by the places of its jobs: names, needs, and the order of processing.

    `wanted` is None for a job that waits for its stages; a need that is not in the pipeline simply disappears.
    """

    places: Mapping[str, int]
    wanted: tuple[tuple[int, ...] | None, ...]
    order: tuple[int, ...]


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
    _needs: Needs | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def needs(self) -> Needs:
        """The graph of the jobs; found once, and handed on from one moment of a pipeline to the next."""
        if self._needs is None:
            object.__setattr__(self, "_needs", _needs_of(self.jobs))
        assert self._needs is not None
        return self._needs

    @property
    def by_name(self) -> dict[str, Job]:
        """The jobs by name."""
        return {job.name: job for job in self.jobs}

    def job(self, job_id: int) -> Job | None:
        """The latest attempt with this id, or None."""
        return next((job for job in self.jobs if job.id == job_id), None)

    def with_jobs(self, changed: Iterable[Job]) -> "Pipeline":
        """The same pipeline with these jobs in the place of those of the same name."""
        jobs = list(self.jobs)
        is_same_graph = True
        for job in changed:
            place = self.needs.places[job.name]
            old, jobs[place] = jobs[place], job
            is_same_graph = is_same_graph and (old.needs, old.stage) == (job.needs, job.stage)
        return self._at(replace(self, jobs=tuple(jobs)), is_same_graph)

    def now(self, status: Status) -> "Pipeline":
        """The same pipeline with another status."""
        return self._at(replace(self, status=status), True)

    def _at(self, later: "Pipeline", is_same_graph: bool) -> "Pipeline":
        if is_same_graph:
            object.__setattr__(later, "_needs", self._needs)
        return later

    def needed_by(self, job: Job) -> tuple[Job, ...]:
        """The jobs that `job` needs and that are in the pipeline (an absent optional need simply disappears)."""
        places = self.needs.places
        return tuple(self.jobs[places[name]] for name in job.needs or () if name in places)

    def folded(self, stage: int | None = None) -> Status:
        """Composite status of one stage, or of the whole pipeline."""
        return composite((job.status, job.allow_failure) for job in self.jobs if stage is None or job.stage == stage)

    def is_complete(self) -> bool:
        """Whether nothing more will happen without a command."""
        return self.folded() in COMPLETE


def _needs_of(jobs: Sequence[Job]) -> Needs:
    places = {job.name: place for place, job in enumerate(jobs)}
    wanted = tuple(
        None if job.needs is None else tuple(places[name] for name in job.needs if name in places) for job in jobs
    )
    return Needs(places, wanted, tuple(_ordered(jobs, wanted)))


def _ordered(jobs: Sequence[Job], wanted: Sequence[tuple[int, ...] | None]) -> Iterator[int]:
    seen: set[int] = set()
    for first in sorted(range(len(jobs)), key=lambda place: jobs[place].stage):
        waiting = [first]
        while waiting:
            current = waiting[-1]
            here = (place for place in wanted[current] or () if jobs[place].stage == jobs[first].stage)
            missing = [place for place in here if place not in seen] if current not in seen else []
            if missing:
                waiting.extend(missing)
                continue
            waiting.pop()
            if current not in seen:
                seen.add(current)
                yield current
