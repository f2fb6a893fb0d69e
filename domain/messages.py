"""What crosses Temporal: frozen, small, ids instead of contents.

Scripts, variables of the configuration, secrets and logs never appear here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from domain.operations import Attempt
from domain.pipeline import Job, Pipeline
from domain.status import Status
from domain.transitions import Transition
from domain.verdict import Verdict


@dataclass(frozen=True, slots=True)
class PipelineInput:
    """The only argument of workflow `Pipeline`; everything else is loaded from SQL."""

    pipeline_id: int


@dataclass(frozen=True, slots=True)
class AwaitJob:
    """The only argument of activity `await_job`."""

    job_id: int


@dataclass(frozen=True, slots=True)
class Operation:
    """Argument of every update and signal. `key` makes a repetition harmless; one is made up where it is missing."""

    key: str = ""
    job_id: int | None = None
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Command:
    """An operation that a workflow has taken on."""

    name: str
    key: str
    job_id: int | None = None
    variables: Mapping[str, str] = field(default_factory=dict)


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
class Decision:
    """What one turn of the loop decided, for one transaction.

    (`run`, `tick`) numbers it: `run` is the start of the workflow run in microseconds, `tick` counts within the run.
    A decision that is not newer than the last one recorded changes nothing.
    """

    pipeline_id: int
    run: int = 0
    tick: int = 0
    verdicts: tuple[Verdict, ...] = ()
    transitions: tuple[Transition, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    cancel: tuple[int, ...] = ()
    answers: tuple[Answer, ...] = ()

    def offers(self) -> tuple[int, ...]:
        """The jobs that runners shall see."""
        return tuple(t.job_id for t in self.transitions if t.to is Status.PENDING)


@dataclass(frozen=True, slots=True)
class Recorded:
    """The rows as they are after a decision was recorded (or found out to be stale)."""

    status: Status
    statuses: Mapping[int, Status] = field(default_factory=dict)
    attempts: tuple[Job, ...] = ()
    answers: tuple[Answer, ...] = ()


@dataclass(frozen=True, slots=True)
class Load:
    """Argument of activity `load`."""

    pipeline_id: int


@dataclass(frozen=True, slots=True)
class Loaded:
    """A pipeline as SQL has it; `verdicts` are those that no decision has folded yet."""

    pipeline: Pipeline
    verdicts: tuple[Verdict, ...] = ()
    answers: tuple[Answer, ...] = ()


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
