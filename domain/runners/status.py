"""How a registered runner stands: whether it was heard of lately, and whether it works (GitLab's words for it)."""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

ONLINE_FOR: Final = timedelta(minutes=5)
"""After a call; contacts are written every half minute, idle runners call often."""
SILENT_AFTER: Final = timedelta(seconds=90)
"""An idle runner asks at least so often: its call waits for 50 s, and is written within half a minute."""
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


class Holds(StrEnum):
    """Whether a runner holds jobs, and whether it calls for at least one of them."""

    NOTHING = "nothing"
    HEARD = "heard"
    SILENT = "silent"


def connection_of(contacted_at: datetime | None, created_at: datetime, now: datetime, holds: Holds) -> Connection:
    """How the connection stands.

    A runner that calls for a job is online, however long ago it asked for one; one whose jobs are all silent only if it
    has asked for further ones since.
    """
    if holds is Holds.HEARD:
        return Connection.ONLINE
    if holds is Holds.SILENT and contacted_at is not None and SILENT_AFTER < now - contacted_at <= ONLINE_FOR:
        return Connection.OFFLINE
    if now - (contacted_at or created_at) > STALE_AFTER:
        return Connection.STALE
    if contacted_at is None:
        return Connection.NEVER_CONTACTED
    return Connection.ONLINE if now - contacted_at <= ONLINE_FOR else Connection.OFFLINE
