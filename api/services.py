"""Everything a route may need, made once by the composition root and passed down."""

import math
import time
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from api.action_limits import ActionLimits
from api.followers import Followers
from api.holders import Holders
from api.plan_cache import PlanCache
from api.refusals import Refusals
from api.runner.asked_together import AskedTogether
from api.runner.contacts import Contacts
from api.runner.held_calls import HeldCalls
from api.runner.known_runners import KnownRunners
from api.runner.waiting_polls import WaitingPolls
from api.v4.log_reads import LogReads
from auth.encryption import Sealer
from auth.job_token import JobTokens
from auth.key_ring import KeyRing
from auth.oidc.provider import Provider
from auth.passwords import Passwords
from auth.queue_ticket import QueueTickets
from domain.errors import Unavailable
from git.repository import Repositories
from metrics.server_metrics import ServerMetrics
from models.clock import Clock
from models.notifications import Notifications
from models.session import Database
from settings import Settings
from storage.objects import ObjectStore
from workflows.handles import Pipelines

if TYPE_CHECKING:
    from api.runner.claimed_together import Answer, Asking
    from api.runner.trace_writer import TraceWriter

_RECENT: Final = 1.0
"""Seconds after which the job that was taken last says nothing of the queue any more."""


@dataclass(slots=True)
class TemporalLink:
    """Temporal as routes see it: it may be away, also at the start."""

    connected: Pipelines | None = None

    @property
    def pipelines(self) -> Pipelines:
        """Pipeline workflows. Raises `Unavailable` while Temporal is away."""
        if self.connected is None:
            raise Unavailable("Temporal is away; the pipeline's workflow cannot be asked now.")
        return self.connected


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


@dataclass(frozen=True, slots=True)
class Services:
    """The dependencies of every route."""

    settings: Settings
    database: Database
    store: ObjectStore
    repositories: Repositories
    notifications: Notifications
    clock: Clock
    key: KeyRing
    sealer: Sealer
    identity_keys: KeyRing
    job_tokens: JobTokens
    compilers: Executor
    runners: KnownRunners
    contacts: Contacts
    polls: WaitingPolls
    tickets: QueueTickets
    refusals: Refusals
    limits: ActionLimits
    claims: "AskedTogether[Asking, Answer]"
    calls: HeldCalls
    trace_writer: "TraceWriter"
    log_reads: LogReads
    passwords: Passwords = field(default_factory=Passwords)
    oidc: Provider | None = None
    temporal: TemporalLink = field(default_factory=TemporalLink)
    plans: PlanCache = field(default_factory=PlanCache)
    holders: Holders = field(default_factory=Holders)
    queue: Queue = field(default_factory=Queue)
    drain: Drain = field(default_factory=Drain)
    followers: Followers = field(default_factory=Followers)
    metrics: ServerMetrics = field(default_factory=ServerMetrics)
