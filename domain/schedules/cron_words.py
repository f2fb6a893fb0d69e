"""Cron expressions in words: what a person reads beside the five fields, made from what these permit."""

from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import Final

from domain.schedules.cron import Cron

MAX_TIMES: Final = 6
"""So many times of a day are told one by one."""
_WEEKDAYS: Final = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_MONTHS: Final = "January February March April May June July August September October November December".split()
_ORDINALS: Final = {1: "first", 2: "second", 3: "third", 4: "fourth", 5: "fifth"}
_HOUR, _DAY = 60, 24
_RUN: Final = 3
"""Values that follow each other are a range from so many on."""


def in_words(cron: Cron) -> str:
    """An expression as a sentence without its full stop: `Monday to Friday at 09:00`, `Every 15 minutes`."""
    often, days, months = _often(cron), _days(cron), _months(cron.months)
    parts = [often, days] if often else [f"{days or 'every day'} at {_times(cron)}"]
    text = ", ".join(part for part in (*parts, months and f"in {months}") if part)
    return text[0].upper() + text[1:]


def _often(cron: Cron) -> str:
    """Where a day has many ticks at even distances; empty where they are few or uneven."""
    every_hour = len(cron.hours) == _DAY
    if every_hour and len(cron.minutes) == 1:
        (minute,) = cron.minutes
        return "every hour" if minute == 0 else f"every hour at minute {minute}"
    minutes = _step(cron.minutes, _HOUR)
    if minutes:
        text = "every minute" if minutes == 1 else f"every {minutes} minutes"
        return text if every_hour else f"{text} of {_hours(cron.hours)}"
    hours = _step(cron.hours, _DAY)
    if hours > 1 and len(cron.minutes) == 1 and len(cron.hours) > _RUN:
        (minute,) = cron.minutes
        return f"every {hours} hours" if minute == 0 else f"every {hours} hours at minute {minute}"
    if len(cron.minutes) * len(cron.hours) > MAX_TIMES:
        whose = "every hour" if every_hour else _hours(cron.hours)
        return f"at minute{'' if len(cron.minutes) == 1 else 's'} {_ranges(sorted(cron.minutes))} of {whose}"
    return ""


def _step(values: Collection[int], size: int) -> int:
    """The distance of values that go round evenly, beginning at 0; 0 of others."""
    steps = [step for step in range(1, size) if size % step == 0 and set(values) == set(range(0, size, step))]
    return steps[0] if steps else 0


def _hours(hours: Collection[int]) -> str:
    return f"the hour{'' if len(hours) == 1 else 's'} {_ranges(sorted(hours))}"


def _times(cron: Cron) -> str:
    """The times of a day that has few."""
    return _listed([f"{hour:02d}:{minute:02d}" for hour in sorted(cron.hours) for minute in sorted(cron.minutes)])


def _days(cron: Cron) -> str:
    """On which days; empty for all. Where both kinds of days are restricted either is enough, and both are told."""
    of_month = [*_of_month(cron.days or ()), *_of_nth(cron.nth), *_of_weeks(cron.weekly)]
    week = sorted(cron.weekdays or ())
    if cron.both:
        of_week = [*_of_nth(cron.nth), *_of_weeks(cron.weekly), *([_week(week)] if week else ())]
        return f"on {' or '.join(_of_month(cron.days or ()))} that is {' or '.join(of_week)}"
    if week and not of_month:
        return f"every {_WEEKDAYS[week[0]]}" if len(week) == 1 else _week(week)
    if week:
        of_month.append(_week(week))
    return f"on {' or '.join(of_month)}" if of_month else ""


def _of_month(days: Collection[int]) -> list[str]:
    forward, backward = sorted(day for day in days if day > 0), sorted(-day for day in days if day < 0)
    told = [f"day{'' if len(forward) == 1 else 's'} {_ranges(forward)} of the month"] if forward else []
    return told + [f"the {_from_end(day)} day of the month" for day in backward]


def _of_nth(nth: Collection[tuple[int, int]]) -> list[str]:
    told = []
    for weekday, number in sorted(nth, key=lambda one: (one[1] < 0, one)):
        which = _ORDINALS[number] if number > 0 else _from_end(-number)
        told.append(f"the {which} {_WEEKDAYS[weekday]} of the month")
    return told


def _of_weeks(weekly: Collection[tuple[int, int, int]]) -> list[str]:
    return [f"the {_WEEKDAYS[weekday]} of one week in {every}" for weekday, every, _ in sorted(weekly)]


def _from_end(place: int) -> str:
    if place == 1:
        return "last"
    return f"{_ORDINALS.get(place, f'{place}th')} to last"


def _week(days: Sequence[int]) -> str:
    """Days of the week, Monday first."""
    from_monday = sorted((day - 1) % 7 for day in days)
    if len(from_monday) == len(_WEEKDAYS):
        return "every day of the week"
    return _spans(from_monday, [*_WEEKDAYS[1:], _WEEKDAYS[0]])


def _months(months: Collection[int]) -> str:
    return "" if len(months) == len(_MONTHS) else _spans([month - 1 for month in sorted(months)], _MONTHS)


def _ranges(rising: Sequence[int]) -> str:
    return _spans(rising, None)


def _spans(rising: Sequence[int], names: Sequence[str] | None) -> str:
    """Values with those that follow each other drawn together: `1 to 5 and 9`."""
    runs: list[list[int]] = [[rising[0]]]
    for before, value in pairwise(rising):
        if value == before + 1:
            runs[-1].append(value)
        else:
            runs.append([value])
    words: list[str] = []
    for run in runs:
        shown = [str(value) if names is None else names[value] for value in run]
        words += [f"{shown[0]} to {shown[-1]}"] if len(run) >= _RUN else shown
    return _listed(words)


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}" if words else ""
