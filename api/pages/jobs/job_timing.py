"""How the time of a job was spent, drawn: from its row, and from the ends of its log for what that does not say."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from api.services import Services
from api.v4.jobs.log import Log, read_log
from domain.pipelines.job_phases import Phase, ScriptTimes, phases_of, script_times
from models.rows.pipelines import JobFacts

_END: Final = 32 * 1024
"""Bytes at both ends of a log in which the sections of a run are looked for."""
WIDTH: Final = 300
"""Units of the picture."""
_LEAST: Final = 2.0
"""Units of a phase that would hardly be seen."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A phase in the picture: where it begins and how wide it is; `seconds` long."""

    phase: Phase
    seconds: float
    x: float
    width: float


async def timing_of(services: Services, row: JobFacts, log: Log, now: datetime) -> Sequence[Bar]:
    """The phases of a job, side by side in proportion to their length."""
    head = tail = b""
    if row.started_at is not None and log.size:
        if row.script_at is None:
            head = b"".join([part async for part in read_log(services, log, 0, _END)])
        if log.frozen:
            tail = b"".join([part async for part in read_log(services, log, max(0, log.size - _END))])
    script = script_times(head, tail)
    return bars(phases_of(row, ScriptTimes(row.script_at or script.begin, script.end)), now)


def bars(phases: Sequence[Phase], now: datetime) -> Sequence[Bar]:
    """The phases that have a length, to scale; each can be seen."""
    lengths = [(phase, phase.seconds(now)) for phase in phases]
    total = sum(seconds for _, seconds in lengths) or 1.0
    free = WIDTH - _LEAST * len(lengths)
    found, x = [], 0.0
    for phase, seconds in lengths:
        width = _LEAST + free * seconds / total
        found.append(Bar(phase, seconds, round(x, 1), round(width, 1)))
        x += width
    return found
