"""What crosses Temporal: frozen, small, ids instead of contents.

Scripts, variables of the configuration, secrets and logs never appear here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from domain.pipelines.operations import Attempt
from domain.pipelines.packing import Packed, unpack
from domain.pipelines.pipeline import Job, Pipeline
from domain.pipelines.status import Status, settled
from domain.pipelines.transitions import Transition
from domain.pipelines.verdict import Verdict


@dataclass(frozen=True, slots=True)
class PipelineInput:
    """The only argument of workflow `Pipeline`; everything else is loaded from SQL.

    `do` is a command that whoever starts the workflow by hand gives along: `{"name": "retry_pipeline"}`, or the name
    alone; further fields are those of `Operation`. It is kept as it was written, since input that does not decode
    would fail the workflow's task again and again (`domain.pipelines.operation_input.read_do`).

    `names` says by which names the workflow calls its local activities (`workflows.ports.NAMES`): Temporal's pages show
    nothing else of them. It is 0 in histories of before, and where somebody has written the input by hand.
    """

    pipeline_id: int
    do: Any = None
    names: int = 0


@dataclass(frozen=True, slots=True)
class AwaitJob:
    """The only argument of activity `await_job`."""

    job_id: int


@dataclass(frozen=True, slots=True)
class Operation:
    """Argument of every update and signal. `key` makes a repetition harmless; one is made up where it is missing.

    `from_step` is the step of a job with `run`, by name or number, at which a new attempt of it begins. `inputs` are
    those of the job; they wait in SQL, and are never sent.
    """

    key: str = ""
    job_id: int | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    reason: str = ""
    from_step: str = ""
    inputs: Mapping[str, Any] = field(default_factory=dict)

    def as_sent(self) -> Mapping[str, Any]:
        """The fields as they are sent: workers of an earlier version refuse fields that they do not know."""
        return {
            name: value
            for name in ("key", "job_id", "variables", "reason", "from_step")
            if (value := getattr(self, name)) or name != "from_step"
        }


@dataclass(frozen=True, slots=True)
class Command:
    """An operation that a workflow has taken on. `reason` is shown with what it cancels.

    `from_step` is what is still to be looked up for it; `refused` says why that cannot be.
    """

    name: str
    key: str
    job_id: int | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    reason: str = ""
    from_step: str = ""
    refused: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a command. `refused` says why nothing was done; `jobs` are the rows that it made or started."""

    key: str
    name: str
    job_id: int | None = None
    refused: str = ""
    jobs: tuple[int, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Started:
    """The jobs that a command starts, repeats or has wait for a person: whoever asked for it becomes their user.

    An id below 0 stands for the attempt that follows the job of that number.
    """

    key: str
    name: str
    job_id: int | None
    jobs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Decision:
    """What one turn of the loop decided, for one transaction.

    (`run`, `tick`) numbers it: `run` is the start of the workflow run in microseconds, `tick` counts within the run.
    A decision that is not newer than the last one recorded changes nothing.

    `takes` are waiting jobs that may take the slot of their resource group. `redundant` are jobs that a newer commit
    cancels, but not if one that is not interruptible has started by now (`unless_started`). `reason` is shown with what
    is canceled. `room` is the waiting room that waits for what is offered, and from now on for the open jobs `moves`;
    empty for the pipeline itself. `started` says which of its jobs somebody asked for.
    """

    pipeline_id: int
    run: int = 0
    tick: int = 0
    verdicts: tuple[Verdict, ...] = ()
    transitions: tuple[Transition, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    cancel: tuple[int, ...] = ()
    answers: tuple[Answer, ...] = ()
    takes: tuple[int, ...] = ()
    redundant: tuple[int, ...] = ()
    unless_started: bool = False
    reason: str = ""
    room: str = ""
    moves: tuple[int, ...] = ()
    started: tuple[Started, ...] = ()

    def offers(self) -> tuple[int, ...]:
        """The jobs that runners shall see."""
        return tuple(t.job_id for t in self.transitions if t.to is Status.PENDING)


@dataclass(frozen=True, slots=True)
class Recorded:
    """The rows as they are after a decision was recorded.

    `slots` are the jobs of the decision's `takes` that hold the slot of their resource group now. `stale` says that
    nothing was recorded, since the decision was not the newest or repeated a command: the pipeline must be loaded
    again.
    """

    status: Status
    statuses: Mapping[int, Status] = field(default_factory=dict)
    attempts: tuple[Job, ...] = ()
    answers: tuple[Answer, ...] = ()
    slots: tuple[int, ...] = ()
    stale: bool = False


@dataclass(frozen=True, slots=True)
class Load:
    """Argument of activity `load`: the page of a pipeline's jobs after the position `after`."""

    pipeline_id: int
    after: int = -1


@dataclass(frozen=True, slots=True)
class Leaving:
    """An earlier attempt that was asked to stop and still runs, and the room that waits for it."""

    job_id: int
    room: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """A part of a pipeline as SQL has it: small enough for Temporal, however large the pipeline is.

    (`run`, `tick`) numbers the last recorded decision. `jobs` are packed (`domain.pipelines.packing`). `verdicts` are
    those of the page that no decision has folded yet. `leaving` and `answers` come with the first page. `following` is
    the position to go on after, None on the last page. `has_window` says that whoever read it knows of the window for
    retries, `rereads` that they read once more before they refuse what SQL may know better, `due_revives_nothing` that
    skipped jobs stay so when the time of a delayed one comes: histories of before do not have them.

    `shown` are the statuses of the stages as SQL has them. None is in histories of versions that did not look at them.
    """

    pipeline_id: int
    run: int
    tick: int
    status: Status
    stages: tuple[str, ...]
    on_new_commit: str
    on_job_failure: str
    jobs: tuple[Packed, ...]
    verdicts: tuple[Verdict, ...] = ()
    leaving: tuple[Leaving, ...] = ()
    answers: tuple[Answer, ...] = ()
    following: int | None = None
    shown: tuple[Status, ...] | None = None
    has_window: bool = False
    rereads: bool = False
    due_revives_nothing: bool = False


@dataclass(frozen=True, slots=True)
class Loaded:
    """A pipeline as SQL has it, put together from its pages; `number` is (run, tick) of its last decision.

    `shown` are the statuses of its stages there, None in histories of versions that did not look at them.
    """

    pipeline: Pipeline
    verdicts: tuple[Verdict, ...] = ()
    answers: tuple[Answer, ...] = ()
    leaving: tuple[Leaving, ...] = ()
    number: tuple[int, int] = (0, 0)
    shown: tuple[Status, ...] | None = None
    has_window: bool = False
    rereads: bool = False
    due_revives_nothing: bool = False

    @property
    def is_owed(self) -> bool:
        """Whether SQL is to be written though nothing may follow: a verdict waits there, or a status is not its rows'.

        An earlier attempt that still stops counts as well, and is not among the jobs: then nothing can be said.
        """
        if self.shown is None or self.leaving:
            return False
        state = self.pipeline
        folded = (state.folded(stage) for stage in range(len(self.shown)))
        is_shown = all(now in {Status.CREATED, then} for now, then in zip(folded, self.shown, strict=True))
        return bool(self.verdicts) or not is_shown or settled(state.status, state.folded()) is not state.status


def joined(pages: Sequence[Page]) -> Loaded:
    """The pipeline of these pages, which are all there are, in order."""
    first = pages[0]
    jobs = tuple(unpack(packed) for page in pages for packed in page.jobs)
    return Loaded(
        pipeline=Pipeline(
            first.pipeline_id, first.stages, jobs, first.status, first.on_new_commit, first.on_job_failure
        ),
        verdicts=tuple(verdict for page in pages for verdict in page.verdicts),
        answers=first.answers,
        leaving=first.leaving,
        number=(first.run, first.tick),
        shown=first.shown,
        has_window=first.has_window,
        rereads=first.rereads,
        due_revives_nothing=first.due_revives_nothing,
    )


@dataclass(frozen=True, slots=True)
class AskWindow:
    """Argument of activity `retry_window`: a pipeline that ended without success."""

    pipeline_id: int


@dataclass(frozen=True, slots=True)
class RetryWindow:
    """Until when the workflow of a pipeline that did not succeed waits for commands."""

    until: datetime


@dataclass(frozen=True, slots=True)
class PinSteps:
    """Argument of activity `pin_steps`: the command `key` wants a new attempt of a job to begin at a step."""

    pipeline_id: int
    key: str
    job_id: int
    from_step: str


@dataclass(frozen=True, slots=True)
class StepsPinned:
    """What the steps before are known to have given waits in SQL, or `refused` says why the attempt cannot begin."""

    refused: str = ""


@dataclass(frozen=True, slots=True)
class PipelineFacts:
    """What Temporal shows of a pipeline: names only, nothing secret."""

    pipeline_id: int
    project: str
    ref: str
    source: str
    status: str
    sha: str
    title: str


@dataclass(frozen=True, slots=True)
class GroupInput:
    """The only argument of workflow `ResourceGroup`."""

    group_id: int


@dataclass(frozen=True, slots=True)
class Chosen:
    """What a look at a resource group found.

    (`pipeline_id`, `job_id`) is the waiting job whose turn it is, None while the slot is held or nobody may take it.
    `waiting` is false when no job waits for the group at all.
    """

    waiting: bool
    pipeline_id: int | None = None
    job_id: int | None = None


@dataclass(frozen=True, slots=True)
class ChooseNext:
    """Argument of activity `choose_next`: the group, and waiters that could not be reached just now."""

    group_id: int
    unreachable: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class RoomInput:
    """The only argument of workflow `WaitingRoom`: the pipeline, and the jobs (at most 200) to wait for."""

    pipeline_id: int
    job_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RoomReady:
    """A waiting room tells its pipeline that it waits for every one of its jobs."""

    room: str


@dataclass(frozen=True, slots=True)
class RoomOutcomes:
    """A waiting room tells its pipeline how jobs have ended."""

    room: str
    verdicts: tuple[Verdict, ...]


@dataclass(frozen=True, slots=True)
class LetGo:
    """A pipeline tells a waiting room which jobs need nobody to wait for them any more."""

    job_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class DeliverHook:
    """The only argument of workflow `HookDelivery` and of its activity."""

    delivery_id: int


@dataclass(frozen=True, slots=True)
class DeliverMessage:
    """The only argument of workflow `MessageDelivery` and of its activity."""

    message_id: int


@dataclass(frozen=True, slots=True)
class ReportCommit:
    """The only argument of workflow `StatusReport` and of its activity."""

    report_id: int
