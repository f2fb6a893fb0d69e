"""How a registered runner stands: whether it was heard of lately, and whether it works (GitLab's words for it)."""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

ONLINE_FOR: Final = timedelta(minutes=5)
"""After a call; contacts are written every half minute, idle runners call often."""
STALE_AFTER: Final = timedelta(days=7)


class Connection(StrEnum):
    """What is known of the connection to a runner."""

    ONLINE = "online"
    OFFLINE = "offline"
    STALE = "stale"
    NEVER_CONTACTED = "never_contacted"


class Execution(StrEnum):
    """Whether a runner holds a job."""

    IDLE = "idle"
    RUNNING = "running"


def connection_of(contacted_at: datetime | None, created_at: datetime, now: datetime, *, busy: bool) -> Connection:
    """How the connection stands. A runner that is `busy` with a job is online, however long ago it asked for one."""
    if busy:
        return Connection.ONLINE
    if now - (contacted_at or created_at) > STALE_AFTER:
        return Connection.STALE
    if contacted_at is None:
        return Connection.NEVER_CONTACTED
    return Connection.ONLINE if now - contacted_at <= ONLINE_FOR else Connection.OFFLINE
