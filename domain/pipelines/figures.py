"""Figures of a project's jobs over time: how many succeed, how long they take, how much of the code tests cover.

GitLab: "CI/CD analytics". Canceled and skipped jobs say nothing of either; each attempt counts.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Final

DAYS: Final = 90
"""Figures go back so far."""


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures of the jobs of one name, or of one day (`2026-05-04`): `key` says which.

    p50 and p95 are durations in seconds that half of them and 95 % do not exceed, by nearest rank.
    """

    key: str
    number: int
    succeeded: int
    p50: float
    p95: float

    @property
    def success_rate(self) -> float:
        """In percent."""
        return round(100 * self.succeeded / self.number, 2)


@dataclass(frozen=True, slots=True)
class Covered:
    """The coverage of a pipeline in percent."""

    pipeline_id: int
    sha: str
    created_at: datetime
    coverage: float


@dataclass(frozen=True, slots=True)
class CoveredDay:
    """The coverage of the last pipeline of a day (in UTC)."""

    day: date
    last: Covered


def by_day(pipelines: Iterable[Covered]) -> list[CoveredDay]:
    """The last pipeline of each day, the oldest day first."""
    last: dict[date, Covered] = {}
    for one in sorted(pipelines, key=lambda covered: covered.pipeline_id):
        last[one.created_at.astimezone(UTC).date()] = one
    return [CoveredDay(day, last[day]) for day in sorted(last)]
