"""Cron expressions as calendars: what Temporal's schedules can say.

Temporal's own reader of cron expressions wants both kinds of days at once where cron wants either, and knows neither
`L` nor `mon#2` nor ranges over the end; its calendars can say all of it.
"""

from calendar import isleap
from collections.abc import Iterator
from dataclasses import dataclass, replace
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
    """The same as calendars of which any is enough; but for weeks that are left out, which no calendar can say.

    Days that are counted from the end of the month need one for each length of a month.
    """
    rule = cron.each_week()
    if rule.days is None and rule.weekdays is None:
        return (Calendar(rule.minutes, rule.hours, rule.months),)
    of_month, of_week = tuple(_of_month(rule)), tuple(_of_week(rule))
    if not rule.both:
        return (*of_month, *of_week)
    pairs = (_common(one, other) for one in of_month for other in of_week)
    return tuple(both for both in pairs if both.months and both.days != frozenset() and both.years != frozenset())


def _common(one: Calendar, other: Calendar) -> Calendar:
    return replace(
        one,
        months=one.months & other.months,
        days=_either(one.days, other.days),
        weekdays=_either(one.weekdays, other.weekdays),
        years=_either(one.years, other.years),
    )


def _either(one: frozenset[int] | None, other: frozenset[int] | None) -> frozenset[int] | None:
    return other if one is None else one if other is None else one & other


def _of_month(cron: Cron) -> Iterator[Calendar]:
    days = frozenset(day for day in cron.days or () if day > 0)
    if days:
        yield Calendar(cron.minutes, cron.hours, cron.months, days)
    for of_length, length, years in _LENGTHS:
        found = frozenset(length + 1 + day for day in cron.days or () if -length <= day < 0)
        if found and cron.months & of_length:
            yield Calendar(cron.minutes, cron.hours, cron.months & of_length, found, None, years)


def _of_week(cron: Cron) -> Iterator[Calendar]:
    if cron.weekdays:
        yield Calendar(cron.minutes, cron.hours, cron.months, None, cron.weekdays)
    for weekday, number in sorted(cron.nth):
        if number > 0:
            week = frozenset(range(7 * number - 6, min(7 * number, 31) + 1))
            yield Calendar(cron.minutes, cron.hours, cron.months, week, frozenset({weekday}))
            continue
        for of_length, length, years in _LENGTHS:
            last = length + 7 * (number + 1)
            if cron.months & of_length and last > 0:
                week = frozenset(range(max(1, last - 6), last + 1))
                yield Calendar(cron.minutes, cron.hours, cron.months & of_length, week, frozenset({weekday}), years)


_LEAP: Final = frozenset(year for year in range(FIRST_YEAR, LAST_YEAR + 1) if isleap(year))
_LENGTHS: Final[tuple[tuple[frozenset[int], int, frozenset[int] | None], ...]] = (
    (frozenset({1, 3, 5, 7, 8, 10, 12}), 31, None),
    (frozenset({4, 6, 9, 11}), 30, None),
    (frozenset({2}), 29, _LEAP),
    (frozenset({2}), 28, frozenset(range(FIRST_YEAR, LAST_YEAR + 1)) - _LEAP),
)
"""Months, how many days they have, and in which years."""
