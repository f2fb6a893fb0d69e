"""Cron expressions as calendars: what Temporal's schedules can say.

Temporal's own reader of cron expressions wants both kinds of days at once where cron wants either, and knows neither
`L` nor `mon#2` nor ranges over the end; its calendars can say all of it.
"""

from calendar import isleap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from domain.schedules.cron import Cron

FIRST_YEAR, LAST_YEAR = 2000, 2100
"""Temporal knows the days of these years."""


@dataclass(frozen=True, slots=True)
class Calendar:
    """Times all of whose parts are among these; a part that is None may be anything."""

    minutes: frozenset[int]
    hours: frozenset[int]
    months: frozenset[int]
    days: frozenset[int] | None = None
    weekdays: frozenset[int] | None = None
    years: frozenset[int] | None = None


def calendars(cron: Cron) -> tuple[Calendar, ...]:
    """The same as calendars of which any is enough.

    Days that are counted from the end of the month need one for each length of a month.
    """
    if cron.days is None and cron.weekdays is None:
        return (Calendar(cron.minutes, cron.hours, cron.months),)
    return (*_forward(cron), *_backward(cron))


def _forward(cron: Cron) -> Iterator[Calendar]:
    """Days that are counted from the beginning of the month or the week."""
    days = frozenset(day for day in cron.days or () if day > 0)
    if days:
        yield Calendar(cron.minutes, cron.hours, cron.months, days)
    if cron.weekdays:
        yield Calendar(cron.minutes, cron.hours, cron.months, None, cron.weekdays)
    for weekday, number in sorted(cron.nth):
        if number > 0:
            week = frozenset(range(7 * number - 6, min(7 * number, 31) + 1))
            yield Calendar(cron.minutes, cron.hours, cron.months, week, frozenset({weekday}))


def _backward(cron: Cron) -> Iterator[Calendar]:
    """Days that are counted from the end of the month."""
    for of_length, length, years in _LENGTHS:
        months = cron.months & of_length
        if not months:
            continue
        days = frozenset(length + 1 + day for day in cron.days or () if -length <= day < 0)
        if days:
            yield Calendar(cron.minutes, cron.hours, months, days, None, years)
        for weekday, number in sorted(cron.nth):
            last = length + 7 * (number + 1)
            if number < 0 < last:
                week = frozenset(range(max(1, last - 6), last + 1))
                yield Calendar(cron.minutes, cron.hours, months, week, frozenset({weekday}), years)


_LEAP: Final = frozenset(year for year in range(FIRST_YEAR, LAST_YEAR + 1) if isleap(year))
_LENGTHS: Final[tuple[tuple[frozenset[int], int, frozenset[int] | None], ...]] = (
    (frozenset({1, 3, 5, 7, 8, 10, 12}), 31, None),
    (frozenset({4, 6, 9, 11}), 30, None),
    (frozenset({2}), 29, _LEAP),
    (frozenset({2}), 28, frozenset(range(FIRST_YEAR, LAST_YEAR + 1)) - _LEAP),
)
"""Months, how many days they have, and in which years."""
