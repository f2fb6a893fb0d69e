"""When each attempt of each job waited, was prepared and ran, as lengths from the beginning of its pipeline."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

_STEPS: Final = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400)
"""Seconds between two marks of an axis; beyond these whole days."""
_DAY: Final = 86400
MAX_MARKS: Final = 8


@dataclass(frozen=True, slots=True)
class Times:
    """When something waited and ran: None for what has not happened. `script_at` is when its own script began."""

    queued_at: datetime | None
    started_at: datetime | None
    finished_at: datetime | None
    script_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of a bar, in seconds from the beginning: `kind` is `queue`, `prepare` or `run`."""

    kind: str
    begin: float
    end: float


@dataclass(frozen=True, slots=True)
class Axis:
    """The beginning of everything, how long it takes until its end or now, and the seconds at which marks stand."""

    origin: datetime
    seconds: float
    marks: tuple[float, ...]


def axis(times: Sequence[Times], created_at: datetime, now: datetime) -> Axis:
    """An axis on which all of these have room."""
    ends = [end for one in times if (end := _end(one, now)) is not None]
    seconds = max(((end - created_at).total_seconds() for end in ends), default=0.0)
    seconds = max(seconds, 1.0)
    step = next((step for step in _STEPS if seconds / step <= MAX_MARKS), 0)
    step = step or _DAY * -(-int(seconds) // (_DAY * MAX_MARKS))
    return Axis(created_at, seconds, tuple(float(step * at) for at in range(int(seconds // step) + 1)))


def segments(one: Times, origin: datetime, now: datetime) -> tuple[Segment, ...]:
    """The pieces of one bar; none for what has neither waited nor run."""
    end = _end(one, now)
    if end is None:
        return ()
    moments: list[tuple[str, datetime | None]] = [("queue", one.queued_at)]
    is_prepared = one.script_at is not None and one.started_at is not None and one.script_at > one.started_at
    moments.append(("prepare" if is_prepared else "run", one.started_at))
    if is_prepared:
        moments.append(("run", one.script_at))
    known = [(kind, moment) for kind, moment in moments if moment is not None]
    found: list[Segment] = []
    first = 0.0
    for at, (kind, begin) in enumerate(known):
        until = min(known[at + 1][1], end) if at + 1 < len(known) else end
        first = max(first, _since(origin, begin))
        last = max(first, _since(origin, until))
        if last > first or kind == "run":
            found.append(Segment(kind, first, last))
        first = last
    return tuple(found)


def took(one: Times, now: datetime) -> float:
    """Seconds of waiting and running together."""
    begin = one.queued_at or one.started_at
    end = _end(one, now)
    return 0.0 if begin is None or end is None else max(0.0, (end - begin).total_seconds())


def _end(one: Times, now: datetime) -> datetime | None:
    """When a bar ends: now for what still waits or runs; None for what has no bar."""
    if one.queued_at is None and one.started_at is None:
        return None
    return one.finished_at or now


def _since(origin: datetime, moment: datetime) -> float:
    return max(0.0, (moment - origin).total_seconds())
