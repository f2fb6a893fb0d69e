"""What use cases need of a process, made once by the composition root and passed down."""

from concurrent.futures import Executor
from dataclasses import dataclass, field

from application.configurations.plan_cache import PlanCache
from application.limits.actions import ActionLimits
from application.moves.away import Leaving
from application.pods.cluster import Cluster
from application.texts.renderings import Renderings
from auth.encryption import Sealer
from auth.job_token import JobTokens
from auth.key_ring import KeyRing
from auth.passwords import Passwords
from domain.errors import Unavailable
from git.repository import Repositories
from metrics.server_metrics import ServerMetrics
from models.clock import Clock
from models.notifications import Notifications
from models.rows.installation import InstallationRow
from models.session import Database
from settings import Settings
from storage.objects import ObjectStore
from workflows.handles import Pipelines


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """The dependencies of every use case; `mine` is the installation as it was at the start of the process."""

    settings: Settings
    database: Database
    store: ObjectStore
    repositories: Repositories
    notifications: Notifications
    clock: Clock
    sealer: Sealer
    identity_keys: KeyRing
    job_tokens: JobTokens
    compilers: Executor
    renderings: Renderings
    limits: ActionLimits
    mine: InstallationRow
    cluster: Cluster | None = None
    leaving: Leaving | None = None
    passwords: Passwords = field(default_factory=Passwords)
    temporal: TemporalLink = field(default_factory=TemporalLink)
    plans: PlanCache = field(default_factory=PlanCache)
    metrics: ServerMetrics = field(default_factory=ServerMetrics)
