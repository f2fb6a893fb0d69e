"""What has to be known of a job to explain it; whoever asks reads it, and nothing here does."""

from dataclasses import dataclass
from typing import Any

from domain.config.plan import NO_RETRY, RetryPolicy
from domain.pipelines.explanation import Cause
from domain.pipelines.named_pipeline import named_pipeline
from domain.pipelines.pipeline import Job
from domain.pipelines.shown_status import shown_job
from domain.pipelines.status import Status
from domain.pipelines.stuck import Stuck
from domain.runners.nearest import Nearest
from domain.runners.places import Place
from domain.runners.waits import Waits


@dataclass(frozen=True, slots=True)
class OtherJob:
    """Another job that has to do with it."""

    id: int
    name: str
    status: Status
    pipeline_id: int
    allow_failure: bool = False

    @property
    def facts(self) -> dict[str, Any]:
        """As facts show it."""
        return {
            "id": self.id,
            "name": self.name,
            "status": str(self.status),
            "pipeline_id": self.pipeline_id,
            "allow_failure": self.allow_failure,
        }

    @property
    def words(self) -> str:
        """In a sentence."""
        return f"{self.name} (job {self.id} of {named_pipeline(self.pipeline_id)}, {shown_job(self).text.lower()})"


@dataclass(frozen=True, slots=True)
class InGraph:
    """A job with what holds it up in its pipeline, as a sentence; `others` are those that do, `more` how many more."""

    job: Job
    cause: Cause
    text: str
    others: tuple[OtherJob, ...] = ()
    more: int = 0


@dataclass(frozen=True, slots=True)
class RunnerWait:
    """A job in the queue. `stuck` says why no runner can take it; then `nearest` comes closest, if it may be named.

    Of those that can take it `able` are there, and `busy` of them hold a job. `place` and `expected` (seconds from now)
    are None where nobody knows.
    """

    waited: float
    stuck: Stuck | None = None
    nearest: Nearest | None = None
    able: int = 0
    busy: int = 0
    place: Place | None = None
    expected: Waits | None = None
    instance_runners: bool = True
    tags: tuple[str, ...] = ()
    project_path: str = ""


@dataclass(frozen=True, slots=True)
class SlotWait:
    """A job that waits for the slot of its resource group.

    `holder` has it. While nobody has, it may be kept for a job that is not ready yet (`kept_for`). `before` are those
    that get it sooner.
    """

    key: str
    mode: str
    holder: OtherJob | None = None
    kept_for: OtherJob | None = None
    before: int = 0
    waiting: int = 1


@dataclass(frozen=True, slots=True)
class HeldBy:
    """Who has or had a job, as people call it; `silent` while it is not heard of."""

    name: str
    silent: bool = False


@dataclass(frozen=True, slots=True)
class Times:
    """What limits there are, in seconds (`settings.TimeLimits`)."""

    pending_unmatched: float
    unresponsive: float
    lost: float


@dataclass(frozen=True, slots=True)
class KnownJob:
    """A job with what its state asks to be known; the parts that it does not ask for are left out.

    `in_graph` is what its pipeline says of it, as a latest attempt. `refused` says why whoever asks may not run it.
    `pipeline_reason` is what is noted of the end of its pipeline. `timeout` and `ran` are seconds, `took` is how long
    it was in the queue in the end.
    """

    id: int
    name: str
    status: Status
    pipeline_id: int
    times: Times
    bridge: bool = False
    allow_failure: bool = False
    attempt: int = 1
    retry: RetryPolicy = NO_RETRY
    retried: bool = False
    timeout: int = 0
    failure_reason: str = ""
    exit_code: int | None = None
    has_run: bool = False
    waited: float = 0.0
    in_graph: InGraph | None = None
    runner: RunnerWait | None = None
    slot: SlotWait | None = None
    held_by: HeldBy | None = None
    refused: str = ""
    pipeline_reason: str = ""
