"""Time zones by the names that schedules give them; their rules come from the machine or from package `tzdata`."""

from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from domain.errors import Invalid
from domain.time_zones import iana_name


def zone_of(name: str) -> ZoneInfo:
    """A time zone by a name of the IANA database or of Rails. Raises `Invalid`."""
    try:
        return ZoneInfo(iana_name(name))
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise Invalid(f"cron_timezone is invalid syntax: there is no time zone {name[:80]!r}.") from error
