"""How often a runner shall send its log (docs/reference/runner-protocol.md, "Job updates", "Log upload")."""

from typing import Final

from api.services import Services
from models.repositories.logs import traces
from models.repositories.queue.held_jobs import HeldJob

TRACE_INTERVAL: Final = "X-GitLab-Trace-Update-Interval"
"""The header of answers to pieces of log and to updates; whole seconds."""


def trace_interval(services: Services, row: HeldJob) -> int:
    """Seconds until the next piece of a held job's log; few while somebody watches it."""
    times = services.settings.times
    return times.trace_interval if traces.is_watched(row) else times.trace_interval_unwatched
