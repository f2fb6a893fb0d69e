"""What may happen to pipelines, and what it changes at once; what follows from that is up to the passes."""

from dataclasses import dataclass
from typing import Final

from tests.oracle.composite import COMPLETE
from tests.oracle.stopping import cancel_all, cancel_attempt, cancel_run, failed_for_good
from tests.oracle.world import ROOT, Attempt, Run, World, enqueue

RETRYABLE: Final = frozenset({"success", "failed", "canceled", "canceling"})
STARTED: Final = frozenset({"running", "canceling", "success", "failed"})


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


def apply(world: World, event: Event) -> bool:
    """Let an event happen, without anything that follows; whether it was accepted."""
    world.kept = frozenset()
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
            failed_for_good(run, attempt)
    return True


def _skip(_: World, run: Run, attempt: Attempt, event: Event) -> bool:
    if attempt.status not in {"created", "pending"}:
        return False
    attempt.status = "skipped"
    return True


def _due(world: World, run: Run, attempt: Attempt, event: Event) -> bool:
    """Its time has come, whether or not it still waits for it."""
    if attempt.status == "scheduled":
        enqueue(attempt)  # nobody asked for it, so nothing that was skipped is decided anew
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


def _cancel(world: World, run: Run, attempt: Attempt, _: Event) -> bool:
    return cancel_attempt(world, run, attempt)


def _newer_commit(world: World, event: Event) -> bool:
    """A newer pipeline of the same ref is made; what is redundant now is canceled."""
    older = [run for run in world.runs.values() if run.parent is None and run.status not in COMPLETE]
    world.add(world.files[event.run], event.run)
    for run in older:
        latest = list(run.jobs.values())
        if run.plan.on_new_commit == "interruptible":
            cancel_all(world, run, [one for one in latest if one.job.interruptible])
        elif run.plan.on_new_commit == "conservative" and not any(_insists(one) for one in latest):
            cancel_all(world, run, latest)
    return True


def _insists(attempt: Attempt) -> bool:
    """Whether an attempt has begun that may not be interrupted by the way."""
    waits = attempt.job.bridge and attempt.status == "manual" and attempt.follows
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


_ON_PIPELINES: Final = {"cancel_pipeline": cancel_run, "retry_pipeline": _retry_run}
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
