"""What the buttons of a pipeline will do, in words, before anybody presses them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from domain.pipelines.operations import CANCELABLE
from domain.pipelines.status import HELD_BY_RUNNER, Status
from models.repositories.pipelines.overview import NamedJob, Tally

AGAIN: Final = (Status.FAILED, Status.CANCELED)
"""States of jobs that are retried with their pipeline."""
NAMED: Final = 8
"""A question names so many jobs and counts the rest."""
_MAX_NAME: Final = 60


@dataclass(frozen=True, slots=True)
class Deed:
    """A button: what is on it, and what is asked before."""

    text: str
    question: str


def retrying(tallies: Sequence[Tally], first: Sequence[NamedJob]) -> Deed | None:
    """What to retry the pipeline does; None if there is nothing to retry. `first` are some of the jobs."""
    numbers = _numbers(tallies)
    words = [f"{numbers[status]} {status}" for status in AGAIN if numbers.get(status)]
    if not words:
        return None
    total = sum(numbers.get(status, 0) for status in AGAIN)
    text = f"Retry {' and '.join(words)} {_jobs(total)}"
    again = [job.name for job in first if job.status in AGAIN]
    skipped = numbers.get(Status.SKIPPED, 0)
    rest = f" {skipped} skipped {_jobs(skipped)} may run after {'it' if total == 1 else 'them'}." if skipped else ""
    return Deed(text, f"{text}: {_listed(again, total)}?{rest}")


def canceling(tallies: Sequence[Tally], first: Sequence[NamedJob]) -> Deed | None:
    """What to cancel the pipeline does; None if every job has ended."""
    numbers = _numbers(tallies)
    total = sum(number for status, number in numbers.items() if status in CANCELABLE)
    if not total:
        return None
    running = sum(numbers.get(status, 0) for status in HELD_BY_RUNNER & CANCELABLE)
    text = f"Cancel {total} {_jobs(total)}"
    names = [job.name for job in first if job.status in CANCELABLE]
    rest = f" {running} of them {'runs' if running == 1 else 'run'} now." if running else ""
    return Deed(text, f"{text}: {_listed(names, total)}?{rest}")


def _numbers(tallies: Sequence[Tally]) -> Mapping[Status, int]:
    found: dict[Status, int] = {}
    for tally in tallies:
        status = Status(tally.status)
        found[status] = found.get(status, 0) + tally.number
    return found


def _jobs(number: int) -> str:
    return "job" if number == 1 else "jobs"


def _listed(names: Sequence[str], total: int) -> str:
    """Some names, each one isolated, so that none turns the text around it."""
    shown = [f"\u2068{_cut(name)}\u2069" for name in names[:NAMED]]
    more = total - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def _cut(name: str) -> str:
    return name if len(name) <= _MAX_NAME else f"{name[:_MAX_NAME]}…"
