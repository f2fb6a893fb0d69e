"""The world of the simulation: pipelines of one project, as they are at one moment."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeVar

from tests.oracle.composite import COMPLETE, composite, pipeline_status, stage_status
from tests.oracle.plan import Job, Plan

T = TypeVar("T")

ROOT: Final = "root"
ACCEPTED: Final[Mapping[str, frozenset[str]]] = {
    "on_success": frozenset({"success", "skipped"}),
    "manual": frozenset({"success", "skipped"}),
    "delayed": frozenset({"success", "skipped"}),
    "on_failure": frozenset({"failed"}),
    "always": frozenset({"success", "failed", "skipped"}),
}
"""After which status of what comes before a job goes on; one with `needs` that waits for success takes no skipped."""


def _like(thing: T) -> T:
    """A flat copy; `copy.copy` takes five times as long, and worlds are copied all the time."""
    other: T = object.__new__(type(thing))
    other.__dict__.update(thing.__dict__)
    return other


@dataclass
class Attempt:
    """The latest attempt of a job."""

    job: Job
    stage: int
    status: str = "created"
    allow_failure: bool = False
    number: int = 1
    at_once: bool = False
    fresh: bool = False
    """Whether it was just made, and no pass has seen it."""
    graceful: bool = False
    child: str = ""
    """The pipeline that the bridge has made."""
    follows: bool = False
    """Whether the bridge takes over what its child becomes: not while it waits for its turn once more."""


@dataclass
class Run:
    """A pipeline: its jobs by name, and the statuses that stages and the pipeline itself show."""

    plan: Plan
    key: str
    jobs: dict[str, Attempt]
    stages: dict[str, str]
    status: str = "created"
    parent: tuple[str, str] | None = None
    """The pipeline and the name of the bridge that made it."""
    ended: bool = False
    """Whether it was complete at some time since the latest attempt of its bridge follows it."""
    age: int = 0
    """The moment in which it was made: of pipelines of one moment nobody knows which is older."""
    told: str = ""
    """The status of which its bridge was told last."""
    stirred: bool = False
    """Whether somebody has just let it live again."""
    doomed: bool = False
    """Whether a failure is about to cancel everything."""
    leaving: dict[tuple[str, int], str] = field(default_factory=dict)
    """Earlier attempts (job, number) that are still being canceled, and their stages."""

    def copy(self) -> "Run":
        """One that may change without this one."""
        other = _like(self)
        other.jobs = {name: _like(attempt) for name, attempt in self.jobs.items()}
        other.stages, other.leaving = dict(self.stages), dict(self.leaving)
        return other

    def first_time(self) -> "Run":
        """Fill in the first attempts; gives itself."""
        for job in self.plan.jobs:
            self.jobs[job.name] = Attempt(job, self.plan.stages.index(job.stage), allow_failure=job.allow_failure)
        self.stages = dict.fromkeys(self.plan.stages, "created")
        return self

    def prior(self, attempt: Attempt) -> str:
        """What comes before a job, together."""
        needs = attempt.job.needs
        before = (
            [other for other in self.jobs.values() if other.stage < attempt.stage]
            if needs is None
            else [self.jobs[name] for name in needs]
        )
        return composite([(one.status, one.allow_failure) for one in before], needs=needs is not None)

    def together(self, stage: str | None = None) -> str:
        """The jobs of a stage, or all, together, with earlier attempts that have not let go."""
        latest = [(a.status, a.allow_failure) for a in self.jobs.values() if stage in {None, a.job.stage}]
        return composite(latest + [("canceling", False) for of in self.leaving.values() if stage in {None, of}])

    def process(self, *, fresh: bool = True) -> bool:
        """Let each created job go on or be skipped whose turn has come; whether any changed. `fresh` ones, too?"""
        changed = False
        if all(attempt.status != "created" for attempt in self.jobs.values()):
            return False
        for attempt in self._in_order():
            if (
                attempt.status != "created"
                or (attempt.fresh and not fresh)
                or (prior := self.prior(attempt)) not in COMPLETE
            ):
                continue
            changed = True
            accepted = ACCEPTED[attempt.job.when]
            if attempt.job.needs is not None and attempt.job.when in {"on_success", "manual", "delayed"}:
                accepted = accepted - {"skipped"}
            self._go_on(attempt) if prior in accepted else self._skip(attempt)
        return changed

    def fold(self) -> None:
        """Put together what stages and pipeline show."""
        for stage in self.plan.stages:
            self.stages[stage] = stage_status(self.stages[stage], self.together(stage))
        self.status = pipeline_status(self.status, self.together())
        self.ended |= self.status in COMPLETE

    def again(self, attempt: Attempt, at_once: bool) -> None:
        """Make a new attempt of a job."""
        if attempt.status == "canceling":
            self.leaving[attempt.job.name, attempt.number] = attempt.job.stage
        self.jobs[attempt.job.name] = Attempt(
            attempt.job, attempt.stage, "created", attempt.job.allow_failure, attempt.number + 1, at_once, fresh=True
        )

    def reset(self, name: str) -> None:
        """Let what was skipped behind a job be decided anew."""
        behind, found = {name}, {name}
        while found:
            found = {a.job.name for a in self.jobs.values() if behind & set(a.job.needs or ())} - behind
            behind |= found
        for attempt in self.jobs.values():
            later = attempt.stage > self.jobs[name].stage
            if attempt.status == "skipped" and (later or attempt.job.name in behind - {name}):
                attempt.status, attempt.follows = "created", False

    def _go_on(self, attempt: Attempt) -> None:
        waits = {"manual": "manual", "delayed": "scheduled"}.get(attempt.job.when)
        if waits and not attempt.at_once:
            attempt.status = waits
        else:
            enqueue(attempt)

    def _skip(self, attempt: Attempt) -> None:
        attempt.status = "skipped"

    def _in_order(self) -> Iterator[Attempt]:
        """Stage by stage, within one what is needed first; only those that are created have anything to wait for."""
        seen: set[str] = set()

        def visit(attempt: Attempt) -> Iterator[Attempt]:
            if attempt.job.name not in seen:
                seen.add(attempt.job.name)
                for need in attempt.job.needs or ():
                    yield from visit(self.jobs[need])
                yield attempt

        for position in range(len(self.plan.stages)):
            for attempt in [one for one in self.jobs.values() if one.stage == position]:
                yield from visit(attempt)


def enqueue(attempt: Attempt) -> None:
    """Let a job become ready; one of a resource group gets its slot when the pass is over."""
    attempt.status = "waiting_for_resource" if attempt.job.group else "pending"


@dataclass(slots=True)
class World:
    """Pipelines of one project, the children's configurations by file, the process modes of its resource groups."""

    files: Mapping[str, Plan] = field(default_factory=dict)
    modes: Mapping[str, str] = field(default_factory=dict)
    runs: dict[str, Run] = field(default_factory=dict)
    moment: int = 0
    kept: frozenset[str] = frozenset()
    """Groups whose slot is kept for a job that is not ready, until something changes."""

    def copy(self) -> "World":
        """One that may change without this one."""
        runs = {key: run.copy() for key, run in self.runs.items()}
        return World(self.files, self.modes, runs, self.moment, self.kept)

    def add(self, plan: Plan, key: str = ROOT, parent: tuple[str, str] | None = None) -> None:
        """Create a pipeline; nothing is decided yet."""
        self.runs[key] = Run(plan, key, {}, {}, parent=parent, age=self.moment).first_time()

    def seen(self) -> tuple[object, ...]:
        """All that can be told of it, to compare worlds with each other."""
        return tuple(
            (
                *(key, run.status, run.ended, run.told, run.stirred, run.doomed, *run.leaving, *run.stages.values()),
                *(
                    (a.status, a.allow_failure, a.number, a.at_once, a.fresh, a.graceful, a.child, a.follows)
                    for a in run.jobs.values()
                ),
            )
            for key, run in sorted(self.runs.items())
        )

    def below(self, key: str) -> list[Run]:
        """The pipelines that a pipeline's bridges made, also those of earlier attempts, and those below them."""
        return [run for run in self.runs.values() if run.key.startswith(f"{key}/")]

    def bridge_of(self, run: Run) -> Attempt | None:
        """The bridge that follows a pipeline."""
        if run.parent is None:
            return None
        bridge = self.runs[run.parent[0]].jobs[run.parent[1]]
        return bridge if bridge.child == run.key and bridge.follows else None
