"""When a cron expression ticks: pure, the time zone is an argument.

The rule is what Temporal says of its calendars: the clock on the wall decides, however it changes. In some zones
its server leaves out one of two times that the clocks show twice; that tick is found missing and made up for.
"""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, tzinfo
from itertools import islice
from typing import Final

from domain.schedules.cron import Cron

FARTHEST: Final = timedelta(days=366 * 41)
"""The fifth Monday of a February comes again after 40 years at most."""

_DAY: Final = timedelta(days=1)


def ticks(cron: Cron, zone: tzinfo, after: datetime, until: datetime) -> Iterator[datetime]:
    """Every tick later than `after` and not later than `until`, in order, in UTC."""
    day, last = after.astimezone(zone).date(), until.astimezone(zone).date()
    while day <= last:
        if cron.permits(day):
            yield from (moment for moment in _of_day(cron, zone, day) if after < moment <= until)
            day += _DAY
        elif day.month in cron.months:
            day += _DAY
        else:
            day = date(day.year + day.month // 12, day.month % 12 + 1, 1)


def next_tick(cron: Cron, zone: tzinfo, after: datetime) -> datetime | None:
    """The first tick later than `after`; None if there is none in all the years to come."""
    return next(ticks(cron, zone, after, after + FARTHEST), None)


def coming(cron: Cron, zone: tzinfo, after: datetime, count: int) -> list[datetime]:
    """The first `count` ticks later than `after`, fewer if there are no more in all the years to come."""
    return list(islice(ticks(cron, zone, after, after + FARTHEST), count))


def _of_day(cron: Cron, zone: tzinfo, day: date) -> list[datetime]:
    """The ticks of a day on the clocks of the zone: none where they skip the time, two where they show it twice."""
    found: set[datetime] = set()
    for hour in cron.hours:
        for minute in cron.minutes:
            shown = datetime(day.year, day.month, day.day, hour, minute)  # noqa: DTZ001  # on the wall
            for fold in (0, 1):
                moment = shown.replace(tzinfo=zone, fold=fold).astimezone(UTC)
                if moment.astimezone(zone).replace(tzinfo=None) == shown:
                    found.add(moment)
    return sorted(found)
