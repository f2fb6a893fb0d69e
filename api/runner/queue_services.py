"""What claims of jobs need of a process, beside what use cases need."""

import math
import time
from dataclasses import dataclass, field
from typing import Final

from api.runner.waiting_polls import WaitingPolls
from application.services import Services

_RECENT: Final = 1.0
"""Seconds after which the job that was taken last says nothing of the queue any more."""


@dataclass(slots=True)
class Queue:
    """When a claim last found a job (monotonic seconds); polls that wait claim nothing."""

    found: float = -math.inf

    def found_a_job(self) -> None:
        """A claim was not in vain."""
        self.found = time.monotonic()

    @property
    def is_busy(self) -> bool:
        """Whether jobs are being taken now: what can wait is done later."""
        return time.monotonic() - self.found < _RECENT


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueServices(Services):
    """The dependencies of a claim: polls that wait, and how busy the queue is."""

    polls: WaitingPolls
    queue: Queue = field(default_factory=Queue)
