"""How long a pipeline has run: the union of the periods in which its jobs did.

What a job waited for a runner or a person does not count, nor does an attempt that was tried again, nor the time before
the next one (decision 63; GitLab's pipeline duration).
"""

from collections.abc import Iterable
from datetime import datetime
from typing import TypeAlias

Period: TypeAlias = tuple[datetime, datetime]
"""Begin and end."""


def running_time(periods: Iterable[Period]) -> float:
    """Seconds that are in at least one of the periods."""
    total = 0.0
    until: datetime | None = None
    for begin, end in sorted(periods):
        start = begin if until is None else max(begin, until)
        if end > start:
            total += (end - start).total_seconds()
            until = end
    return round(total, 3)
