"""How the time of a job was spent: phases from its row, and from the sections of its log."""

import itertools
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from domain.pipelines.job_phases import ScriptTimes, phases_of, script_times

ZERO = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return ZERO + timedelta(seconds=seconds)


@dataclass
class Times:
    """When a job was what."""

    created_at: datetime = ZERO
    queued_at: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None


ENDED = Times(ZERO, at(10), at(30), at(100))


@pytest.mark.parametrize(
    ("times", "script", "found"),
    [
        (Times(), ScriptTimes(), [("waited", None)]),
        (Times(finished_at=at(7)), ScriptTimes(), [("waited", 7)]),
        (Times(queued_at=at(10)), ScriptTimes(), [("waited", 10), ("queued", None)]),
        (Times(queued_at=ZERO, started_at=at(5)), ScriptTimes(), [("queued", 5), ("run", None)]),
        (ENDED, ScriptTimes(), [("waited", 10), ("queued", 20), ("run", 70)]),
        (
            ENDED,
            ScriptTimes(at(40), at(90)),
            [("waited", 10), ("queued", 20), ("prepared", 10), ("run", 50), ("finished", 10)],
        ),
        (ENDED, ScriptTimes(at(40)), [("waited", 10), ("queued", 20), ("prepared", 10), ("run", 60)]),
        # What a script writes that does not fit into the run says nothing.
        (ENDED, ScriptTimes(at(-500), at(90)), [("waited", 10), ("queued", 20), ("run", 70)]),
        (ENDED, ScriptTimes(at(40), at(900)), [("waited", 10), ("queued", 20), ("prepared", 10), ("run", 60)]),
        (ENDED, ScriptTimes(at(29.5), at(100.5)), [("waited", 10), ("queued", 20), ("run", 70)]),
    ],
)
def test_phases_follow_one_another(times: Times, script: ScriptTimes, found: list[tuple[str, float | None]]) -> None:
    phases = phases_of(times, script)
    spans = [(one.kind, None if one.end is None else (one.end - one.begin).total_seconds()) for one in phases]
    assert spans == found
    assert all(one.end == other.begin for one, other in itertools.pairwise(phases))


def test_the_outermost_marks_of_a_log_count() -> None:
    head = b"x\nsection_start:10:step_script[hide=true]\r\x1b[0Ksection_start:12:step_script\r"
    tail = b"section_end:20:step_script\rsection_end:30:step_script\r"
    assert script_times(head, tail) == ScriptTimes(datetime.fromtimestamp(10, UTC), datetime.fromtimestamp(30, UTC))
    assert script_times(b"section_start:999999999999:step_script\r") == ScriptTimes()
    assert script_times(b"section_start:10:other\r", b"") == ScriptTimes()
