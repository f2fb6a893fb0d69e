"""Cron expressions as GitLab takes them (Fugit's dialect): five fields, names, ranges, steps, `L`, `mon#2`, `@daily`.

Where both the day of the month and the day of the week are restricted, either is enough. The clock on the wall decides:
a time that the clocks skip has no tick, one that they show twice has two.
"""

import re
from calendar import monthrange
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from domain.errors import Invalid

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
_MONTHS: Final = "january february march april may june july august september october november december".split()
_WEEKDAYS: Final = "sunday monday tuesday wednesday thursday friday saturday".split()
_PART: Final = re.compile(r"(?P<first>\*|\w+)(?:-(?P<last>\w+))?(?:/(?P<step>\d+))?")
_FROM_END: Final = re.compile(r"-\d{1,2}")
_LAST_WORDS: Final = frozenset({"l", "last"})


@dataclass(frozen=True, slots=True)
class Cron:
    """The values that each field permits. `days` and `weekdays` are None where the field is `*`.

    Negative `days` count from the end of the month: -1 is its last day. `weekdays` begin with Sunday, 0. `nth` are days
    of the week of which only one in a month is meant: (1, 2) is the second Monday, (1, -1) the last one.
    """

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int] | None
    months: frozenset[int]
    weekdays: frozenset[int] | None
    nth: frozenset[tuple[int, int]] = frozenset()

    def permits(self, day: date) -> bool:
        """Whether there are ticks on a day."""
        if day.month not in self.months:
            return False
        if self.days is None and self.weekdays is None:
            return True
        return self._permits_day(day) or self._permits_weekday(day)

    def _permits_day(self, day: date) -> bool:
        length = monthrange(day.year, day.month)[1]
        return self.days is not None and (day.day in self.days or day.day - length - 1 in self.days)

    def _permits_weekday(self, day: date) -> bool:
        if self.weekdays is None:
            return False
        weekday, length = day.isoweekday() % 7, monthrange(day.year, day.month)[1]
        which = ((weekday, (day.day + 6) // 7), (weekday, -((length - day.day) // 7 + 1)))
        return weekday in self.weekdays or not self.nth.isdisjoint(which)


def parse(text: str) -> Cron:
    """Read an expression. Raises `Invalid`, which tells of each wrong field its name, the fault and what it takes."""
    minutes, hours, days, months, weekdays = _fields(_words(text))
    nth = frozenset(item for item in weekdays or () if isinstance(item, tuple))
    return Cron(
        minutes=_numbers(minutes) or frozenset(range(60)),
        hours=_numbers(hours) or frozenset(range(24)),
        days=None if days is None else _numbers(days),
        months=_numbers(months) or frozenset(range(1, 13)),
        weekdays=None if weekdays is None else _numbers(weekdays),
        nth=nth,
    )


_Values = frozenset[int | tuple[int, int]] | None


def _words(text: str) -> list[str]:
    """The five fields of an expression."""
    if len(text) > MAX_LENGTH:
        raise _fault(f"it has more than {MAX_LENGTH} characters")
    name = text.strip().lower()
    if name.startswith("@") and name not in NICKNAMES:
        raise _fault(f"{name[:_SHOWN]!r} is none of {', '.join(NICKNAMES)}")
    words = NICKNAMES.get(name, name).split()
    if len(words) != len(_FIELDS):
        fields = ", ".join(field.name for field in _FIELDS)
        raise _fault(f"it has {len(words)} field{'' if len(words) == 1 else 's'} instead of {len(_FIELDS)}: {fields}")
    return words


def _fields(words: Sequence[str]) -> list[_Values]:
    """What all fields permit; raises the faults of all of them together."""
    found: list[_Values] = []
    faults: list[str] = []
    for field, word in zip(_FIELDS, words, strict=True):
        try:
            found.append(field.read(word))
        except Invalid as error:
            faults.append(f"{error} in the {field.name}, which takes {field.takes}")
    if faults:
        raise _fault("; ".join(faults))
    return found


def _fault(text: str) -> Invalid:
    return Invalid(f"cron is invalid syntax: {text}.")


def _numbers(values: _Values) -> frozenset[int]:
    return frozenset(value for value in values or () if isinstance(value, int))


def _plain(
    low: int, high: int, names: Mapping[str, int] | None = None, *, ends_at: int | None = None
) -> Callable[[str], _Values]:
    """Reads a field of numbers from `low` to `high`; a value above `ends_at` is counted from `low` again."""
    end = high if ends_at is None else ends_at

    def value(word: str) -> int:
        number = (names or {}).get(word, -1)
        if word.isascii() and word.isdigit():
            number = int(word)
        if not low <= number <= high:
            raise Invalid(f"{word[:_SHOWN]!r} is wrong")
        return number

    def part(word: str) -> Iterator[int]:
        found = _PART.fullmatch(word)
        if found is None:
            raise Invalid(f"{word[:_SHOWN]!r} is neither a value nor a range as 1-5 or */10")
        if int(found["step"] or 1) == 0:
            raise Invalid(f"{word[:_SHOWN]!r} has a step of 0")
        if found["first"] == "*":
            first, last = low, end
            if found["last"]:
                raise Invalid(f"{word[:_SHOWN]!r} is a range that begins with '*' instead of a value")
        else:
            first = value(found["first"])
            last = value(found["last"]) if found["last"] else (end if found["step"] else first)
        span = [*range(first, last + 1)] if first <= last else [*range(first, end + 1), *range(low, last + 1)]
        return (low + (each - low) % (end - low + 1) for each in span[:: int(found["step"] or 1)])

    def read(field: str) -> _Values:
        return None if field == "*" else frozenset(each for word in field.split(",") for each in part(word))

    return read


_weekday: Final = _plain(0, 7, {name: n for n, full in enumerate(_WEEKDAYS) for name in (full, full[:3])}, ends_at=6)
_day: Final = _plain(1, 31)


def _read_days(field: str) -> _Values:
    if field == "*":
        return None
    values: set[int | tuple[int, int]] = set()
    for word in field.split(","):
        if word in _LAST_WORDS:
            values.add(-1)
        elif _FROM_END.fullmatch(word) and -31 <= int(word) <= -1:
            values.add(int(word))
        else:
            values |= _day(word) or frozenset(range(1, 32))
    return frozenset(values)


def _read_weekdays(field: str) -> _Values:
    if field == "*":
        return None
    values: set[int | tuple[int, int]] = set()
    for word in field.split(","):
        name, hash_sign, place = word.partition("#")
        days = _weekday(name)
        if not hash_sign:
            values |= days or frozenset(range(7))
            continue
        number = -1 if place in _LAST_WORDS else int(place) if re.fullmatch(r"-?[1-5]", place) else 0
        if not number or days is None:
            raise Invalid(f"{word[:_SHOWN]!r} is wrong")
        values |= {(day, number) for day in days if isinstance(day, int)}
    return frozenset(values)


@dataclass(frozen=True, slots=True)
class _Field:
    """One of the five: what people call it, what it takes, and how it is read."""

    name: str
    takes: str
    read: Callable[[str], _Values]


_FIELDS: Final = (
    _Field("minute", "0 to 59", _plain(0, 59)),
    _Field("hour", "0 to 24", _plain(0, 24, ends_at=23)),
    _Field("day of the month", "1 to 31, -1 to -31 from its end, and L for the last day", _read_days),
    _Field(
        "month",
        "1 to 12 and jan to dec",
        _plain(1, 12, {name: n for n, full in enumerate(_MONTHS, 1) for name in (full, full[:3])}),
    ),
    _Field("day of the week", "0 to 7, sun to sat, mon#2 for the second Monday, mon#-1 for the last", _read_weekdays),
)
