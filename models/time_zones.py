"""Time zones by the names that schedules give them; their rules come from the machine or from package `tzdata`."""

from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from domain.errors import Invalid
from domain.schedules.cron import Cron, parse_stored
from domain.schedules.time_zones import iana_name, nearest_name


def timetable(cron: str, zone: str) -> tuple[Cron, ZoneInfo]:
    """A stored expression and the clock that it goes by: its own zone counts more than that beside it."""
    rule = parse_stored(cron)
    return rule, zone_of(rule.zone or zone)


def zone_of(name: str) -> ZoneInfo:
    """A time zone by a name of the IANA database or of Rails. Raises `Invalid`, which tells the nearest one."""
    try:
        return ZoneInfo(iana_name(name))
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        near = nearest_name(name, available_timezones())
        advice = f"did you mean {near!r}?" if near else "it takes names as Europe/Berlin, America/New_York or UTC."
        raise Invalid(f"cron_timezone is invalid syntax: there is no time zone {name[:80]!r}; {advice}") from error
