"""Everything a door may need, made once by the composition root and passed down."""

import math
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from api.followers import Followers
from api.holders import Holders
from api.refusals import Refusals
from api.runner.batching import AskedTogether
from api.runner.contacts import Contacts
from api.runner.held_calls import HeldCalls
from api.runner.known_runners import KnownRunners
from api.runner.trace_writer import TraceWriter
from api.runner.waiting_polls import WaitingPolls
from api.v4.jobs.log_reads import LogReads
from application.services import Services as UseCaseServices
from auth.key_ring import KeyRing
from auth.oidc.provider import Provider
from auth.queue_ticket import QueueTickets

if TYPE_CHECKING:
    from api.runner.batched_claims import Answer, Asking

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


@dataclass(slots=True)
class Drain:
    """Whether this process is about to stop: held polls are let go then."""

    begun: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Services(UseCaseServices):
    """What doors need beside that: sessions, runners that wait, calls that are answered together."""

    key: KeyRing
    runners: KnownRunners
    contacts: Contacts
    polls: WaitingPolls
    tickets: QueueTickets
    refusals: Refusals
    claims: "AskedTogether[Asking, Answer]"
    calls: HeldCalls
    trace_writer: TraceWriter
    log_reads: LogReads
    oidc: Provider | None = None
    holders: Holders = field(default_factory=Holders)
    queue: Queue = field(default_factory=Queue)
    drain: Drain = field(default_factory=Drain)
    followers: Followers = field(default_factory=Followers)
