"""Points in time as GitLab's webhooks write them; `facts` of an event hold them as ISO 8601."""

from datetime import UTC, datetime


def read(text: str | None) -> datetime | None:
    """A moment of the facts."""
    return None if text is None else datetime.fromisoformat(text)


def plain(value: datetime | None) -> str | None:
    """`2016-08-12 15:23:28 UTC`, as pipelines and releases have them."""
    return None if value is None else value.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def exact(value: datetime | None) -> str | None:
    """`2021-02-23T02:41:37.886Z`, as jobs have them."""
    if value is None:
        return None
    return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def iso(value: datetime | None) -> str | None:
    """`2021-02-23T02:41:37Z`, the fields whose names end in `_iso`."""
    return None if value is None else value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def seconds(begin: datetime | None, end: datetime | None) -> float | None:
    """Between two moments; None while one of them has not come."""
    return None if begin is None or end is None else round(max(0.0, (end - begin).total_seconds()), 3)
