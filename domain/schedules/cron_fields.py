"""What a field of a cron expression permits, as the library reads it that GitLab uses (fugit 1.11).

A field is a star if one of its parts is, or begins at the first value and goes to the last by steps of 1: `*/1`, `1/1`,
`1-31`, `*,5`. That of the days of the week is one only if no part names a day.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from domain.errors import Invalid

_SHOWN: Final = 20
_MONTHS: Final = "january february march april may june july august september october november december".split()
_WEEKDAYS: Final = "sunday monday tuesday wednesday thursday friday saturday".split()
_SHORT: Final = re.compile(rf"\b({'|'.join((*_MONTHS, *_WEEKDAYS))})\b")
_PART: Final = re.compile(r"(?:\*|(?P<first>-?\w+)(?:-(?P<last>-?\w+))?)?(?:/(?P<step>[0-9]{1,2}))?")
_NTH: Final = re.compile(r"(?P<day>\w+)#(?P<nth>-?[1-5]|l|last)")
_WEEKLY: Final = re.compile(r"(?P<day>\w+)%(?P<every>[0-9]+)(?:\+(?P<offset>[0-9]+))?")
_HINT: Final = "is neither a value nor a range as 1-5 or */10"


@dataclass(frozen=True, slots=True)
class Field:
    """What people call it, what it takes, its first and last value, what a value looks like, and names of values.

    `beyond` is a value that counts as the first.
    """

    name: str
    takes: str
    low: int
    high: int
    value: re.Pattern[str]
    names: Mapping[str, int]
    beyond: int | None = None

    def number(self, word: str) -> int:
        """The value that a word stands for. Raises `Invalid`."""
        if word in self.names:
            return self.names[word]
        if not self.value.fullmatch(word):
            raise Invalid(f"{word[:_SHOWN]!r} is wrong")
        return int(word)


class Weekday(NamedTuple):
    """A day of the week, 0 is Sunday: each, the `nth` of a month, or that of some weeks (`every`, `offset`)."""

    day: int
    nth: int = 0
    every: int = 0
    offset: int = 0


def _short(names: list[str], first: int) -> dict[str, int]:
    return {name[:3]: number for number, name in enumerate(names, first)}


MINUTE: Final = Field("minute", "0 to 59", 0, 59, re.compile("[0-5]?[0-9]"), {})
HOUR: Final = Field("hour", "0 to 24", 0, 23, re.compile("2[0-4]|[01]?[0-9]"), {}, beyond=24)
DAY: Final = Field(
    "day of the month",
    "1 to 31, -1 to -31 from its end, and L for the last day",
    1,
    31,
    re.compile("-?(?:3[01]|[12][0-9]|0?[1-9])"),
    {"l": -1, "last": -1},
)
MONTH: Final = Field("month", "1 to 12 and jan to dec", 1, 12, re.compile("1[0-2]|0?[1-9]"), _short(_MONTHS, 1))
WEEKDAY: Final = Field(
    "day of the week",
    "0 to 7, sun to sat, mon#2 for the second Monday, mon#-1 for the last, mon%2 for each second week's",
    0,
    7,
    re.compile("[0-7]"),
    _short(_WEEKDAYS, 0),
)
FIELDS: Final = (MINUTE, HOUR, DAY, MONTH, WEEKDAY)


def shortened(word: str) -> str:
    """A field whose names in full are cut to three letters: only those are names."""
    return _SHORT.sub(lambda found: found[0][:3], word)


def read_numbers(field: Field, text: str) -> frozenset[int] | None:
    """The values of a field of numbers; None if it is a star. Raises `Invalid`."""
    found: set[int] = set()
    is_star = False
    for word in _parts(text, ends_with_and=field is DAY):
        values = _expanded(field, word)
        is_star = is_star or values is None
        found |= {field.low if value == field.beyond else value for value in values or ()}
    return None if is_star else frozenset(found)


def read_weekdays(text: str) -> frozenset[Weekday] | None:
    """The days of the week; None if no part names one. Raises `Invalid`.

    Of several parts that name the same day one counts: each before the last of a month, that before the first.
    """
    found: dict[int, Weekday] = {}
    for word in _parts(text, ends_with_and=True):
        for one in _weekdays(word):
            other = found.setdefault(one.day, one)
            if bool(one.nth) & bool(other.every) or bool(one.every) & bool(other.nth):
                raise Invalid(f"{word[:_SHOWN]!r} is a day that is named in another way too")
            found[one.day] = min(one, other, key=_rank)
    return frozenset(found.values()) or None


def _rank(one: Weekday) -> tuple[bool, Weekday]:
    return bool(one.nth or one.every), one


def _parts(text: str, *, ends_with_and: bool) -> list[str]:
    """What commas part; those at the end say nothing."""
    return (text.removesuffix("&") if ends_with_and else text).rstrip(",").split(",")


def _weekdays(word: str) -> Iterator[Weekday]:
    if found := _NTH.fullmatch(word):
        nth = found["nth"]
        yield Weekday(WEEKDAY.number(found["day"]) % 7, nth=-1 if nth.startswith("l") else int(nth))
        return
    if found := _WEEKLY.fullmatch(word):
        if not int(found["every"]):
            raise Invalid(f"{word[:_SHOWN]!r} is each 0th week")
        yield Weekday(WEEKDAY.number(found["day"]) % 7, every=int(found["every"]), offset=int(found["offset"] or 0))
        return
    if not {"#", "%"}.isdisjoint(word):
        raise Invalid(f"{word[:_SHOWN]!r} is wrong")
    first, last, step = _bounds(WEEKDAY, word)
    if step is not None:
        begin = first or 0
        days = range(begin, (last if last is not None else 6 if first is None else first) + 1, step or 1)
    elif first is None:
        return
    else:
        end = first if last is None else last
        days = range(first, (end + 7 if first > end else end) + 1)
    yield from (Weekday(day % 7) for day in days)


def _bounds(field: Field, word: str) -> tuple[int | None, int | None, int | None]:
    """First value, last value and step, each None where there is none."""
    found = _PART.fullmatch(word)
    if not word or found is None:
        raise Invalid(f"{word[:_SHOWN]!r} {_HINT}")
    first, last = (None if found[name] is None else field.number(found[name]) for name in ("first", "last"))
    return first, last, None if found["step"] is None else int(found["step"])


def _expanded(field: Field, word: str) -> list[int] | None:
    """All values of a part; None if it is a star."""
    first, last, step = _bounds(field, word)
    if last is None and step is None:
        return None if first is None else [first]
    if step == 0:
        raise Invalid(f"{word[:_SHOWN]!r} has a step of 0")
    first = field.low if first is None else first
    last = field.high if last is None or last < 0 < first else last
    if first < 0 < last:
        raise Invalid(f"{word[:_SHOWN]!r} begins at the end of the month and does not end there")
    if (first, last, step or 1) == (field.low, field.high, 1):
        return None
    low, high = (-field.high, -1) if first < 0 else (field.low, field.high)
    return list(_round(first, last, low, high))[:: step or 1]


def _round(first: int, last: int, low: int, high: int) -> Iterator[int]:
    """The values from `first` to `last`, where `low` follows `high`; one beyond stands before the first."""
    value = first
    yield value
    while value != last:
        value += 1
        if value > high:
            value, last = low, last - high - 1 + low if last > high else last
        yield value
