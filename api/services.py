"""Everything a door may need, made once by the composition root and passed down."""

from dataclasses import dataclass, field

from api.followers import Followers
from api.holders import Holders
from api.refusals import Refusals
from api.runner.batched_claims import Answer, Asking
from api.runner.batching import AskedTogether
from api.runner.contacts import Contacts
from api.runner.held_calls import HeldCalls
from api.runner.known_runners import KnownRunners
from api.runner.queue_services import QueueServices
from api.runner.trace_writer import TraceWriter
from api.v4.jobs.log_reads import LogReads
from application.jobs.log_indexes import LogIndexes
from auth.key_ring import KeyRing
from auth.oidc.provider import Provider
from auth.queue_ticket import QueueTickets
from storage.opened_archives import OpenedArchives


@dataclass(slots=True)
class Drain:
    """Whether this process is about to stop: held polls are let go then."""

    begun: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Services(QueueServices):
    """What doors need beside that: sessions, runners that wait, calls that are answered together."""

    key: KeyRing
    runners: KnownRunners
    contacts: Contacts
    tickets: QueueTickets
    refusals: Refusals
    claims: AskedTogether[Asking, Answer]
    calls: HeldCalls
    trace_writer: TraceWriter
    log_reads: LogReads
    log_indexes: LogIndexes
    oidc: Provider | None = None
    holders: Holders = field(default_factory=Holders)
    drain: Drain = field(default_factory=Drain)
    followers: Followers = field(default_factory=Followers)
    archives: OpenedArchives = field(default_factory=OpenedArchives)
