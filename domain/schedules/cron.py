"""Cron expressions as GitLab takes them: five fields, names, ranges, steps, `L`, `mon#2`, `mon%2`, `&`, `@daily`.

Where both the day of the month and the day of the week are restricted, either is enough, and with `&` both are wanted.
The clock on the wall decides: a time that the clocks skip has no tick, one that they show twice has two. What a field
means is in `domain.schedules.cron_fields`.
"""

import re
from calendar import monthrange
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Final, NamedTuple

from domain.errors import Invalid
from domain.schedules.cron_fields import FIELDS, WEEKDAY, Weekday, read_numbers, read_weekdays, shortened

NICKNAMES: Final[Mapping[str, str]] = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@noon": "0 12 * * *",
    "@hourly": "0 * * * *",
}
MAX_LENGTH: Final = 512
"""Characters of an expression."""
_SHOWN: Final = 20
"""Characters of a wrong word that its fault repeats."""
_FIRST_WEEK: Final = date(2019, 1, 1)
"""From this Tuesday on weeks are counted for `mon%2`, which is in week 1."""
_MAX_DAYS: Final = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_ZONE: Final = re.compile(r"[A-Z][a-zA-Z0-9+-]+(/[A-Z][a-zA-Z0-9+_-]+){0,2}")
_COMMAS: Final = re.compile(r",(?:[ \t]*,)+")
_FULL: Final = 5


@dataclass(frozen=True, slots=True)
class Cron:
    """The values that each field permits. `days` and `weekdays` are None where the field is a star.

    Negative `days` count from the end of the month: -1 is its last day. `weekdays` begin with Sunday, 0. `nth` are days
    of the week of which only one in a month is meant: (1, 2) is the second Monday, (1, -1) the last one. `weekly` are
    those of some weeks only: (1, 2, 0) is the Monday of each second week. `both` asks for a day that both kinds permit.
    `zone` is the time zone that the expression itself names, empty if it names none.
    """

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int] | None
    months: frozenset[int]
    weekdays: frozenset[int] | None
    nth: frozenset[tuple[int, int]] = frozenset()
    weekly: frozenset[tuple[int, int, int]] = frozenset()
    both: bool = False
    zone: str = ""

    def permits(self, day: date) -> bool:
        """Whether there are ticks on a day."""
        if day.month not in self.months:
            return False
        if self.days is None and self.weekdays is None:
            return True
        if self.both:
            return self._permits_day(day) and self._permits_weekday(day)
        return self._permits_day(day) or self._permits_weekday(day)

    def each_week(self) -> "Cron":
        """The same without weeks that are left out."""
        if self.weekdays is None or not self.weekly:
            return self
        return replace(self, weekdays=self.weekdays | {day for day, _, _ in self.weekly}, weekly=frozenset())

    def _permits_day(self, day: date) -> bool:
        length = monthrange(day.year, day.month)[1]
        return self.days is not None and (day.day in self.days or day.day - length - 1 in self.days)

    def _permits_weekday(self, day: date) -> bool:
        if self.weekdays is None:
            return False
        weekday, length = day.isoweekday() % 7, monthrange(day.year, day.month)[1]
        which = ((weekday, (day.day + 6) // 7), (weekday, -((length - day.day) // 7 + 1)))
        week = (day - _FIRST_WEEK).days // 7 + 1
        in_week = any(one == weekday and (week - offset) % every == 0 for one, every, offset in self.weekly)
        return weekday in self.weekdays or not self.nth.isdisjoint(which) or in_week


def parse(text: str) -> Cron:
    """Read an expression. Raises `Invalid`, which tells of each wrong field its name, the fault and what it takes."""
    words, zone = _words(text)
    fields = _fields(words)
    months, days = fields.months, fields.days
    if months is not None and days is not None:
        pairs = [(month, day) for month in months for day in days if day <= _MAX_DAYS[month - 1]]
        if not pairs:
            raise _fault("none of its months has such a day, so it would never run")
        months, days = frozenset(month for month, _ in pairs), frozenset(day for _, day in pairs)
    return _cron(fields._replace(months=months, days=days), both=any("&" in word for word in words), zone=zone)


def parse_stored(text: str) -> Cron:
    """Read an expression that an earlier version may have taken: with names in full, or with days that no month has."""
    words, zone = _words(text)
    return _cron(_fields([shortened(word) for word in words]), both=any("&" in word for word in words), zone=zone)


class _Fields(NamedTuple):
    """What the five fields permit; None is a star."""

    minutes: frozenset[int] | None
    hours: frozenset[int] | None
    days: frozenset[int] | None
    months: frozenset[int] | None
    weekdays: frozenset[Weekday] | None


def _cron(fields: _Fields, *, both: bool, zone: str) -> Cron:
    found = fields.weekdays or frozenset()
    return Cron(
        minutes=frozenset(range(60)) if fields.minutes is None else fields.minutes,
        hours=frozenset(range(24)) if fields.hours is None else fields.hours,
        days=fields.days,
        months=frozenset(range(1, 13)) if fields.months is None else fields.months,
        weekdays=None
        if fields.weekdays is None
        else frozenset(one.day for one in found if not one.nth and not one.every),
        nth=frozenset((one.day, one.nth) for one in found if one.nth),
        weekly=frozenset((one.day, one.every, one.offset) for one in found if one.every),
        both=both and fields.days is not None and fields.weekdays is not None,
        zone=zone,
    )


def _words(text: str) -> tuple[list[str], str]:
    """The five fields of an expression, and the time zone behind them."""
    if len(text) > MAX_LENGTH:
        raise _fault(f"it has more than {MAX_LENGTH} characters")
    first, _, rest = text.strip().partition(" ")
    if first.startswith("@"):
        name = first.lower()
        if name not in NICKNAMES:
            raise _fault(f"{name[:_SHOWN]!r} is none of {', '.join(NICKNAMES)}")
        text = f"{NICKNAMES[name]} {rest}"
    words = re.split(r"[ \t]+", _COMMAS.sub(",", text.strip(" \t\r\n").lstrip(",")))
    zone = words.pop() if len(words) == _FULL + 1 and _ZONE.fullmatch(words[-1]) else ""
    if len(words) != _FULL or not words[0]:
        fields = ", ".join(field.name for field in FIELDS)
        count = len(words) if words[0] else 0
        raise _fault(f"it has {count} field{'' if count == 1 else 's'} instead of {_FULL}: {fields}")
    return [word.lower() for word in words], zone


def _fields(words: Sequence[str]) -> _Fields:
    """What all fields permit; raises the faults of all of them together."""
    found: list[frozenset[int] | None] = []
    weekdays: frozenset[Weekday] | None = None
    faults: list[str] = []
    for field, word in zip(FIELDS, words, strict=True):
        try:
            if field is WEEKDAY:
                weekdays = read_weekdays(word)
            else:
                found.append(read_numbers(field, word))
        except Invalid as error:
            faults.append(f"{error} in the {field.name}, which takes {field.takes}")
    if faults:
        raise _fault("; ".join(faults))
    minutes, hours, days, months = found
    return _Fields(minutes, hours, days, months, weekdays)


def _fault(text: str) -> Invalid:
    return Invalid(f"cron is invalid syntax: {text}.")
