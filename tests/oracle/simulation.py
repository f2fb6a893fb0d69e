"""GitLab's processing of pipelines, small and slow: a world of pipelines, what happens to it, what it then may be.

Where GitLab leaves something open (who of several waiting jobs gets a freed slot; what of two things that happen at the
same moment comes first, and whether a pass of processing falls between them) there are several worlds afterwards, and
each of them is right. Nothing here is taken from the product.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations, product
from typing import Final, TypeAlias, TypeVar

from tests.oracle.composite import COMPLETE, composite, pipeline_status, stage_status
from tests.oracle.plan import Job, Plan

T = TypeVar("T")

ROOT: Final = "root"
CANCELABLE: Final = frozenset(
    {
        "created",
        "waiting_for_resource",
        "preparing",
        "waiting_for_callback",
        "pending",
        "running",
        "scheduled",
        "manual",
    }
)
RETRYABLE: Final = frozenset({"success", "failed", "canceled", "canceling"})
HOLDING: Final = frozenset({"pending", "running", "canceling"})
STARTED: Final = frozenset({"running", "canceling", "success", "failed"})
ACCEPTED: Final[Mapping[str, frozenset[str]]] = {
    "on_success": frozenset({"success", "skipped"}),
    "manual": frozenset({"success", "skipped"}),
    "delayed": frozenset({"success", "skipped"}),
    "on_failure": frozenset({"failed"}),
    "always": frozenset({"success", "failed", "skipped"}),
}
"""After which status of what comes before a job goes on; one with `needs` that waits for success takes no skipped."""

FOLLOWED: Final[Mapping[str, Mapping[str, str]]] = {
    "depend": {"success": "success", "failed": "failed", "skipped": "failed", "canceled": "canceled"},
    "mirror": {
        "success": "success", "failed": "failed", "skipped": "skipped", "canceled": "canceled", "manual": "manual"
    },
}  # fmt: skip
"""What a bridge becomes when its child has become something; what is not listed changes nothing."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happens to a job of a pipeline, or to the pipeline (no job)."""

    kind: str
    job: str = ""
    run: str = ROOT
    code: int | None = None
    reason: str = "script_failure"
    graceful: bool = False
    attempt: int = 0
    """Which attempt is meant; 0 is the latest one when the moment begins."""
    is_last: bool = False
    """Whether a failure has no further attempt, since somebody has asked to stop the job at the same moment."""

    def __str__(self) -> str:
        """As a person would say it."""
        more = [f"exit code {self.code}"] * (self.code is not None) + ["graceful"] * self.graceful
        more += [self.reason] * (self.kind == "drop" and self.reason != "script_failure")
        return " ".join([self.kind, self.job, *([f"in {self.run}"] * (self.run != ROOT)), *more]).replace("  ", " ")


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
    graceful: bool = False
    child: str = ""
    """The pipeline that the bridge has made."""
    follows: bool = False
    """Whether the bridge takes over what its child becomes: not while it waits for its own turn."""


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

    def process(self) -> bool:
        """Let each created job go on or be skipped whose turn has come; whether any changed."""
        changed = False
        if all(attempt.status != "created" for attempt in self.jobs.values()):
            return False
        for attempt in self._in_order():
            if attempt.status != "created" or (prior := self.prior(attempt)) not in COMPLETE:
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
            attempt.job, attempt.stage, "created", attempt.job.allow_failure, attempt.number + 1, at_once
        )

    def reset(self, name: str) -> None:
        """Let what was skipped behind a job be decided anew."""
        behind, found = {name}, True
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

    def copy(self) -> "World":
        """One that may change without this one."""
        return World(self.files, self.modes, {key: run.copy() for key, run in self.runs.items()})

    def add(self, plan: Plan, key: str = ROOT, parent: tuple[str, str] | None = None) -> None:
        """Create a pipeline; nothing is decided yet."""
        self.runs[key] = Run(plan, key, {}, {}, parent=parent).first_time()

    def seen(self) -> tuple[object, ...]:
        """All that can be told of it, to compare worlds with each other."""
        return tuple(
            (
                *(key, run.status, run.ended, run.stirred, run.doomed, *run.leaving, *run.stages.values()),
                *(
                    (a.status, a.allow_failure, a.number, a.at_once, a.graceful, a.child, a.follows)
                    for a in run.jobs.values()
                ),
            )
            for key, run in sorted(self.runs.items())
        )

    def children(self, key: str) -> list[Run]:
        """The pipelines that a pipeline's bridges made, also those of earlier attempts."""
        return [run for run in self.runs.values() if run.parent and run.parent[0] == key]

    def bridge_of(self, run: Run) -> Attempt | None:
        """The bridge that follows a pipeline."""
        if run.parent is None:
            return None
        bridge = self.runs[run.parent[0]].jobs[run.parent[1]]
        return bridge if bridge.child == run.key and bridge.follows else None


def settle(world: World) -> list[World]:
    """All worlds that this one may come to rest in; it is changed itself.

    Whether a job that is about to get a slot is seen waiting for it is open, so both are worlds.
    """
    changed = True
    while changed:
        strike(world)
        while any([run.process() for run in world.runs.values()]) or _trigger(world):  # noqa: C419  # all of them
            pass
        choice = _free_slot(world)
        if choice is not None:
            shown = world.copy()
            for run in shown.runs.values():
                run.fold()
            worlds = [_with_slot(before, run, name) for before in (world, shown) for run, name in choice]
            return _each([*worlds, shown] if _follow(shown) else worlds)
        for run in world.runs.values():
            run.fold()
        stirred = [run.key for run in world.runs.values() if run.stirred]
        for key in stirred:
            world.runs[key].stirred = False
            if (again := _seen_alive(world, key)) is not None:
                return _each([world, again])
        changed = _follow(world)
    return [world]


def strike(world: World) -> None:
    """Cancel what failures have doomed."""
    for run in list(world.runs.values()):
        if run.doomed:
            run.doomed = False
            _cancel_all(world, run, run.jobs.values())


def _each(worlds: Sequence[World]) -> list[World]:
    """What any of these may come to rest in."""
    return list({one.seen(): one for world in worlds for one in settle(world)}.values())


def _with_slot(world: World, run: str, name: str) -> World:
    after = world.copy()
    after.runs[run].jobs[name].status = "pending"
    return after


def _seen_alive(world: World, key: str) -> World | None:
    """The world in which a bridge has seen that its child lived again for a moment; None if it will see it for sure."""
    run = world.runs[key]
    bridge = world.bridge_of(run)
    if (
        bridge is None
        or bridge.status not in COMPLETE - {"skipped"}
        or run.status not in COMPLETE
        or run.parent is None
    ):
        return None
    after = world.copy()
    _follow_again(after.runs[run.parent[0]], run.parent[1])
    return after


def _trigger(world: World) -> bool:
    """Make the children of bridges that are ready; whether there were any."""
    ready = [
        (run, attempt)
        for run in world.runs.values()
        for attempt in run.jobs.values()
        if attempt.job.bridge and attempt.status == "pending"
    ]
    for run, attempt in ready:
        if not attempt.child:
            attempt.child = f"{run.key}/{attempt.job.name}#{attempt.number}"
            world.add(world.files[attempt.job.child], attempt.child, (run.key, attempt.job.name))
        attempt.status, attempt.follows = ("running", True) if attempt.job.strategy else ("success", False)
        world.runs[attempt.child].ended = False
    return bool(ready)


def _follow(world: World) -> bool:
    """Let bridges become what their children have become; whether any changed.

    One that has ended and whose child lives again gets a further attempt that follows the same child, where GitLab
    opens the row again; and `mirror` gives up `manual` when the child goes on (`docs/decisions/0009`).
    """
    changed = False
    for run in list(world.runs.values()):
        bridge = world.bridge_of(run)
        if bridge is None or run.parent is None:
            continue
        upstream = world.runs[run.parent[0]]
        if bridge.status in COMPLETE:
            if run.ended and run.status not in COMPLETE and bridge.status != "skipped":
                changed = True
                _follow_again(upstream, bridge.job.name)
            continue
        to = FOLLOWED[bridge.job.strategy].get(run.status, "running")
        if bridge.status in {"running", "manual"} and to != bridge.status:
            changed = True
            bridge.status = to
            if to == "failed":
                _failed_for_good(upstream, bridge)
    return changed


def _follow_again(upstream: Run, name: str) -> None:
    """A further attempt of a bridge that follows the same child."""
    child = upstream.jobs[name].child
    upstream.again(upstream.jobs[name], at_once=True)
    upstream.jobs[name].child = child
    upstream.reset(name)


def _free_slot(world: World) -> list[tuple[str, str]] | None:
    """Who may get a slot that is free and wanted, as (pipeline, job); None if there is none."""
    grouped = [(run, a) for run in world.runs.values() for a in run.jobs.values() if a.job.group]
    held = {
        a.job.group for _, a in grouped if a.status in HOLDING or (a.job.bridge and a.status == "manual" and a.child)
    }
    held |= {run.jobs[name].job.group for run in world.runs.values() for name, _ in run.leaving}
    for group in sorted({a.job.group for _, a in grouped if a.status == "waiting_for_resource"} - held):
        found = _candidates(world, [(run, a) for run, a in grouped if a.job.group == group], world.modes.get(group, ""))
        if found:
            return found
    return None


def _candidates(world: World, grouped: Sequence[tuple[Run, Attempt]], mode: str) -> list[tuple[str, str]]:
    """Who of those in a group may be next. Pipelines are as old as their place in the world."""
    age = {key: number for number, key in enumerate(world.runs)}
    coming = {"waiting_for_resource"} | (
        {"created", "scheduled"} if mode in {"oldest_first", "newest_first"} else set()
    )
    considered = [(run, a) for run, a in grouped if a.status in coming]
    if mode == "oldest_first":
        considered = [one for one in considered if age[one[0].key] == min(age[run.key] for run, _ in considered)]
    elif mode in {"newest_first", "newest_ready_first"}:
        considered = [one for one in considered if age[one[0].key] == max(age[run.key] for run, _ in considered)]
    return [(run.key, a.job.name) for run, a in considered if a.status == "waiting_for_resource"]


def happen(world: World, events: Sequence[Event]) -> list[tuple[World, tuple[bool, ...]]]:
    """All worlds in which events of one moment may end, each with which of the events were accepted.

    One event: one order. Several: every order, with and without a pass of processing between two of them.
    A failure that comes with a cancel may have no further attempt (`docs/seam.md`, "Who writes which status").
    """
    aimed = [_aimed(world, event) for event in events]
    found = _in_any_order(world, aimed)
    if any(map(_cancels, events)) and any(event.kind == "drop" for event in events):
        found |= _in_any_order(world, [replace(event, is_last=event.kind == "drop") for event in aimed])
    return list(found.values())


def _cancels(event: Event) -> bool:
    return event.kind in {"cancel", "cancel_pipeline", "newer_commit"}


def _in_any_order(world: World, events: Sequence[Event]) -> dict[object, tuple[World, tuple[bool, ...]]]:
    found: dict[object, tuple[World, tuple[bool, ...]]] = {}
    for order in permutations(range(len(events))):
        for passes in product(_BETWEEN, repeat=len(events) - 1):
            for after, accepted in _in_turn(world, [events[one] for one in order], passes):
                answers = tuple(accepted[order.index(number)] for number in range(len(events)))
                found.setdefault((after.seen(), answers), (after, answers))
    return found


def _aimed(world: World, event: Event) -> Event:
    """The event with the attempt that is meant."""
    run = world.runs.get(event.run)
    if event.attempt or run is None or event.job not in run.jobs:
        return event
    return replace(event, attempt=run.jobs[event.job].number)


def one_after_the_other(world: World, events: Sequence[Event]) -> list[tuple[World, tuple[bool, ...]]]:
    """As `happen`, in this order and without a pass between."""
    aimed = [_aimed(world, event) for event in events]
    return _in_turn(world, aimed, [_nothing] * (len(events) - 1))


def _nothing(world: World) -> list[World]:
    return [world]


def _canceled(world: World) -> list[World]:
    strike(world)
    return [world]


Between: TypeAlias = Callable[[World], list[World]]
_BETWEEN: Final[Sequence[Between]] = (_nothing, _canceled, settle)
"""What may happen between two events of a moment: nothing, only the cancel after a failure, a whole pass."""


def _in_turn(world: World, events: Sequence[Event], passes: Sequence[Between]) -> list[tuple[World, tuple[bool, ...]]]:
    worlds: list[tuple[World, tuple[bool, ...]]] = [(world, ())]
    for event, after in zip(events, (*passes, settle), strict=True):
        ends = []
        for one, answers in worlds:
            now = one.copy()
            answer = apply(now, event)
            ends += [(end, (*answers, answer)) for end in after(now)]
        worlds = ends
    return worlds


def apply(world: World, event: Event) -> bool:
    """Let an event happen, without anything that follows; whether it was accepted."""
    if event.kind == "newer_commit":
        return _newer_commit(world, event)
    run = world.runs.get(event.run)
    if run is None:
        return False
    if event.kind in _ON_PIPELINES:
        _ON_PIPELINES[event.kind](world, run)
        return True  # whether one that does nothing is refused is a matter of taste
    attempt = run.jobs[event.job]
    if event.attempt not in {0, attempt.number}:
        return event.kind in {"success", "drop"} and run.leaving.pop((event.job, event.attempt), None) is not None
    return _ON_JOBS[event.kind](world, run, attempt, event)


def _run(_: World, run: Run, attempt: Attempt, event: Event) -> bool:
    if attempt.status != "pending" or attempt.job.bridge:
        return False
    attempt.status, attempt.graceful = "running", event.graceful
    return True


def _end(world: World, run: Run, attempt: Attempt, event: Event) -> bool:
    """A runner's verdict; of a job that is being canceled it only says that it is over."""
    if attempt.status not in {"pending", "running", "canceling"}:
        return False
    if attempt.status == "canceling":
        attempt.status = "canceled"
    elif event.kind == "success":
        attempt.status = "success"
    else:
        attempt.status = "failed"
        attempt.allow_failure |= event.code in attempt.job.allowed_codes
        if not event.is_last and attempt.number <= attempt.job.retry.most_after(event.reason, event.code):
            _retry_attempt(world, run, attempt)
        else:
            _failed_for_good(run, attempt)
    return True


def _failed_for_good(run: Run, attempt: Attempt) -> None:
    """With `on_job_failure: all` everything that can be is canceled, before the next pass but not at once."""
    if run.plan.on_job_failure == "all" and not attempt.allow_failure:
        run.doomed = True


def _skip(_: World, run: Run, attempt: Attempt, event: Event) -> bool:
    if attempt.status not in {"created", "pending"}:
        return False
    attempt.status = "skipped"
    return True


def _due(_: World, run: Run, attempt: Attempt, event: Event) -> bool:
    """Its time has come, whether or not it still waits for it."""
    if attempt.status == "scheduled":
        enqueue(attempt)
    return True


def _unschedule(_: World, run: Run, attempt: Attempt, event: Event) -> bool:
    if attempt.status != "scheduled":
        return False
    attempt.status = "manual"
    return True


def _play(world: World, run: Run, attempt: Attempt, event: Event) -> bool:
    if attempt.status not in {"manual", "scheduled"}:
        return _retry(world, run, attempt, event)
    enqueue(attempt)
    _revived(world, run, attempt)
    return True


def _retry(world: World, run: Run, attempt: Attempt, _: Event) -> bool:
    if attempt.status not in RETRYABLE:
        return False
    _retry_attempt(world, run, attempt)
    return True


def _retry_attempt(world: World, run: Run, attempt: Attempt) -> None:
    run.again(attempt, at_once=True)
    _revived(world, run, run.jobs[attempt.job.name])


def _revived(world: World, run: Run, attempt: Attempt) -> None:
    """A job became alive again: what was skipped behind it is decided anew."""
    run.stirred = True
    run.reset(attempt.job.name)


def _cancel(world: World, run: Run, attempt: Attempt, event: Event) -> bool:
    """Cancel a job; a bridge takes its child along."""
    if attempt.status not in CANCELABLE:
        return False
    attempt.status = "canceling" if attempt.status == "running" and attempt.graceful else "canceled"
    if attempt.child and world.runs[attempt.child].status not in COMPLETE:
        _cancel_run(world, world.runs[attempt.child])
    return True


def _cancel_run(world: World, run: Run) -> bool:
    """Cancel whatever can be, of the children too, also where the bridge has ended."""
    if not any(attempt.status in CANCELABLE for attempt in run.jobs.values()):
        return False
    _cancel_all(world, run, run.jobs.values())
    for child in world.children(run.key):
        if child.status not in COMPLETE:
            _cancel_run(world, child)
    return True


def _cancel_all(world: World, run: Run, attempts: Iterable[Attempt]) -> None:
    for attempt in attempts:
        _cancel(world, run, attempt, Event("cancel"))


def _newer_commit(world: World, event: Event) -> bool:
    """A newer pipeline of the same ref is made; what is redundant now is canceled."""
    older = [run for run in world.runs.values() if run.parent is None and run.status not in COMPLETE]
    world.add(world.files[event.run], event.run)
    for run in older:
        latest = list(run.jobs.values())
        if run.plan.on_new_commit == "interruptible":
            _cancel_all(world, run, [one for one in latest if one.job.interruptible])
        elif run.plan.on_new_commit == "conservative" and not any(_insists(one) for one in latest):
            _cancel_all(world, run, latest)
    return True


def _insists(attempt: Attempt) -> bool:
    """Whether an attempt has begun that may not be interrupted by the way."""
    waits = attempt.job.bridge and attempt.status == "manual" and bool(attempt.child)
    return not attempt.job.interruptible and (attempt.status in STARTED or waits)


def _retry_run(world: World, run: Run) -> bool:
    """A new attempt of what failed or was canceled, and what was skipped is decided anew."""
    run.stirred = True
    for attempt in list(run.jobs.values()):
        if attempt.status in {"failed", "canceled"}:
            run.again(attempt, at_once=False)
        elif attempt.status == "skipped":
            attempt.status, attempt.follows = "created", False
    return True


_ON_PIPELINES: Final = {"cancel_pipeline": _cancel_run, "retry_pipeline": _retry_run}
_ON_JOBS: Final = {
    "run": _run,
    "success": _end,
    "drop": _end,
    "skip": _skip,
    "due": _due,
    "unschedule": _unschedule,
    "play": _play,
    "retry": _retry,
    "cancel": _cancel,
}
