"""What pods tell each other of pipelines that one's bridges have in another (docs/pods.md, "Triggers between pods")."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from domain.pipelines.bridges import Ancestor
from domain.pipelines.status import Status


@dataclass(frozen=True, slots=True)
class PipelineState:
    """A pipeline as its pod tells of it; (`run`, `tick`) is its last recorded decision."""

    id: int
    iid: int
    project_id: int
    full_path: str
    visibility: str
    ref: str
    sha: str
    source: str
    name: str
    status: Status
    run: int
    tick: int
    created_at: datetime
    updated_at: datetime

    @property
    def version(self) -> tuple[int, int, bool]:
        """A later one is greater: between two decisions a pipeline can only begin to run, by the claim of a job."""
        return (self.run, self.tick, self.status is Status.RUNNING)

    @property
    def warned(self) -> bool:
        """Its pod does not tell whether something failed in it that was allowed to."""
        return False


@dataclass(frozen=True, slots=True)
class UpstreamPipeline:
    """The pipeline of a bridge, as another pod hears of it."""

    id: int
    project_id: int
    full_path: str
    visibility: str


@dataclass(frozen=True, slots=True)
class DownstreamRequest:
    """What a bridge asks of another pod: a pipeline of the project `path`, of `branch` or its default one.

    `username` is whose rights count, `home_id` their account where they are at home. `ancestors` are the pipelines that
    have led to it, as far as loops are concerned, and `hierarchy` counts those of its hierarchy. `variables` are as in
    `PipelineRequest`.
    """

    username: str
    home_id: int
    upstream: UpstreamPipeline
    path: str
    branch: str
    variables: tuple[Mapping[str, Any], ...]
    inputs: Mapping[str, Any]
    ancestors: tuple[Ancestor, ...]
    hierarchy: int


@dataclass(frozen=True, slots=True)
class DownstreamResponse:
    """The pipeline of a bridge, or why there is none: a failure reason and what people read.

    With both, the pipeline only shows the faults of its configuration.
    """

    pipeline: PipelineState | None = None
    reason: str = ""
    text: str = ""


def is_later(state: PipelineState, known: PipelineState) -> bool:
    """Whether a message tells something new; one that comes late or twice does not."""
    return state.version > known.version
