"""Times as people write and read them: `90s`, `2h`, `3 min ago`."""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from domain.errors import Invalid

_SPAN: Final = re.compile(r"(\d{1,9}(?:\.\d+)?)\s*(s|m|min|h|d|w|)")
_UNITS: Final = {"": 1, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400, "w": 604800}
_STEPS: Final = ((60, "s", 1), (3600, "min", 60), (86400, "h", 3600))


def span(option: str, text: str) -> float:
    """Seconds of `90`, `90s`, `5m`, `2h`, `1d` or `1w`. Raises `Invalid`."""
    found = _SPAN.fullmatch(text.strip())
    if found is None:
        raise Invalid(f"{option} {text!r} is no time span; write it like 90s, 5m, 2h, 1d or 1w.")
    return float(found[1]) * _UNITS[found[2]]


def moment(option: str, text: str, now: datetime) -> datetime:
    """The moment of a time span before now, or of an ISO 8601 time (UTC where it names no zone). Raises `Invalid`."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        at = None
    if at is not None and not text.isdigit():
        return at if at.tzinfo else at.replace(tzinfo=UTC)
    try:
        return now - timedelta(seconds=span(option, text))
    except (Invalid, OverflowError):
        message = f"{option} {text!r} is no time; write it like 30m, 2h, 1d or 2026-01-31T12:00:00Z."
        raise Invalid(message) from None


def ago(text: str | None, now: datetime) -> str:
    """How long ago, or in how long, an ISO 8601 time is; empty for none."""
    if not text:
        return ""
    seconds = (now - datetime.fromisoformat(text)).total_seconds()
    amount = abs(seconds)
    limit_unit = next(((unit, size) for limit, unit, size in _STEPS if amount < limit), ("d", 86400))
    words = f"{int(amount // limit_unit[1])} {limit_unit[0]}"
    return f"{words} ago" if seconds >= 0 else f"in {words}"


def duration(seconds: float | None) -> str:
    """Seconds as `4.2 s`, `3 min 05 s` or `2 h 07 min`; empty for none."""
    if seconds is None:
        return ""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02} s"
    return f"{minutes // 60} h {minutes % 60:02} min"
