"""Cancels: of a job, of a pipeline with its children, and of what a failure has doomed."""

from collections.abc import Iterable
from typing import Final

from tests.oracle.composite import COMPLETE
from tests.oracle.world import Attempt, Run, World

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


def cancel_attempt(world: World, run: Run, attempt: Attempt) -> bool:
    """Cancel a job; a bridge takes its child along."""
    if attempt.status not in CANCELABLE:
        return False
    attempt.status = "canceling" if attempt.status == "running" and attempt.graceful else "canceled"
    if attempt.follows and world.runs[attempt.child].status not in COMPLETE:
        cancel_with_children(world, world.runs[attempt.child])
    return True


def cancel_run(world: World, run: Run) -> bool:
    """Cancel whatever can be, of the children too, also where the bridge has ended."""
    if any(attempt.status in CANCELABLE for attempt in run.jobs.values()):
        cancel_with_children(world, run)
    return True


def cancel_with_children(world: World, run: Run) -> None:
    """What is below is canceled also where one between has ended; one that has ended itself stays as it is."""
    cancel_all(world, run, run.jobs.values())
    for below in world.below(run.key):
        if below.status not in COMPLETE:
            cancel_all(world, below, below.jobs.values())


def cancel_all(world: World, run: Run, attempts: Iterable[Attempt]) -> None:
    for attempt in attempts:
        cancel_attempt(world, run, attempt)


def failed_for_good(run: Run, attempt: Attempt) -> None:
    """With `on_job_failure: all` everything that can be is canceled, before the next pass but not at once."""
    if run.plan.on_job_failure == "all" and not attempt.allow_failure:
        run.doomed = True


def strike(world: World) -> None:
    """Cancel what failures have doomed."""
    for run in list(world.runs.values()):
        if run.doomed:
            run.doomed = False
            cancel_all(world, run, run.jobs.values())
