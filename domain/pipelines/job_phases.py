"""How the time of a job was spent: waiting, being prepared, running its script, finishing.

What rows say is certain; the parts of a run are known from the sections that runners write into its log
(docs/reference/runner-protocol.md, "Log text"), and from those only as far as they fit into the run.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Protocol

from domain.logs.lines import joined

SCRIPT: Final = "step_script"
"""The section in which runners run the script of a job."""
_MARK: Final = re.compile(rb"section_(start|end):(\d{1,12}):step_script(?:\[[^\]\r\n]{0,200}\])?[\r\n]")


class Timed(Protocol):
    """When a job was what."""

    @property
    def created_at(self) -> datetime:
        """When its row was made."""

    @property
    def queued_at(self) -> datetime | None:
        """When it was offered to runners."""

    @property
    def started_at(self) -> datetime | None:
        """When a runner took it."""

    @property
    def finished_at(self) -> datetime | None:
        """When it ended."""


@dataclass(frozen=True, slots=True)
class Phase:
    """A stretch of time. `kind` is a word for styles; `end` is None while it lasts."""

    kind: str
    text: str
    begin: datetime
    end: datetime | None

    def seconds(self, now: datetime) -> float:
        """How long it was, or is so far."""
        return max(0.0, ((self.end or now) - self.begin).total_seconds())


@dataclass(frozen=True, slots=True)
class ScriptTimes:
    """When the script began and ended, as far as the log tells."""

    begin: datetime | None = None
    end: datetime | None = None


def script_times(head: bytes, tail: bytes = b"") -> ScriptTimes:
    """From the first bytes of a log and its last ones. A script may write such marks as well: the outermost count."""
    begins = [moment_of(found[2]) for found in _MARK.finditer(joined(head)) if found[1] == b"start"]
    ends = [moment_of(found[2]) for found in _MARK.finditer(joined(tail)) if found[1] == b"end"]
    return ScriptTimes(begins[0] if begins else None, ends[-1] if ends else None)


def moment_of(seconds: bytes | int) -> datetime | None:
    """What a mark says; None where no calendar reaches."""
    try:
        return datetime.fromtimestamp(int(seconds), UTC)
    except (ValueError, OverflowError, OSError):
        return None


def phases_of(job: Timed, script: ScriptTimes) -> Sequence[Phase]:
    """The phases of a job so far, in order; one that took no time at all is left out."""
    queued, started, ended = job.queued_at, job.started_at, job.finished_at
    found = [Phase("waited", "waited in the pipeline", job.created_at, queued or started or ended)]
    if queued is not None:
        found.append(Phase("queued", "waited for a runner", queued, started or ended))
    if started is not None:
        found += _of_run(started, ended, script)
    return [phase for phase in found if phase.end is None or phase.end > phase.begin]


def _of_run(started: datetime, ended: datetime | None, script: ScriptTimes) -> list[Phase]:
    begin = within(script.begin, started, ended)
    if begin is None:
        return [Phase("run", "ran", started, ended)]
    found = [Phase("prepared", "was prepared", started, begin)]
    end = within(script.end, begin, ended)
    if end is None or ended is None:
        return [*found, Phase("run", "ran its script", begin, ended)]
    return [*found, Phase("run", "ran its script", begin, end), Phase("finished", "handed in results", end, ended)]


def within(moment: datetime | None, begin: datetime, end: datetime | None) -> datetime | None:
    """The moment if it lies between; runners count whole seconds, so one just outside counts as the border."""
    if moment is None or (begin - moment).total_seconds() > 1 or (end and (moment - end).total_seconds() > 1):
        return None
    return min(max(moment, begin), end or max(moment, begin))
