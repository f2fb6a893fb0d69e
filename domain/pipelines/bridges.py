"""Bridges: what a downstream pipeline's status means for them, which pipelines they may make, what they hand down.

Source: docs/reference/pipelines.md, "Downstream pipelines"; docs/reference/ci-yaml.md, "Limits".
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from domain.config.plan import Document, Variable
from domain.pipelines.status import COMPLETE, Status
from domain.variables.job_variables import JobVariable, expand

CHILD: Final = "parent_pipeline"
"""Source of a child pipeline."""
DOWNSTREAM: Final = "pipeline"
"""Source of a pipeline that another project's pipeline has triggered."""

MIRROR: Final = "mirror"
"""The strategy of a bridge that only follows a pipeline which it did not make, too."""

MAX_DEPTH: Final = 2
"""A child pipeline may have children; those may have none."""
MAX_PIPELINES: Final = 1_000
"""Pipelines of one hierarchy."""
MAX_VISITS: Final = 2
"""So often may the same project, ref and source come up in the pipelines above a new one."""

CREATION_FAILED: Final = "downstream_pipeline_creation_failed"
NO_PROJECT: Final = "downstream_bridge_project_not_found"
NO_PERMISSION: Final = "insufficient_bridge_permissions"
INVALID_TRIGGER: Final = "invalid_bridge_trigger"
TOO_DEEP: Final = "reached_max_descendant_pipelines_depth"
TOO_MANY: Final = "reached_max_pipeline_hierarchy_size"
LOOP: Final = "pipeline_loop_detected"
DOWNSTREAM_FAILED: Final = "downstream_pipeline_failed"
"""Our own word for a bridge that has taken over a failure."""

TEXT_OF: Final[Mapping[str, str]] = {
    CREATION_FAILED: "The downstream pipeline could not be made",
    NO_PROJECT: "The downstream project does not exist, or whoever runs this job may not see it",
    NO_PERMISSION: "Whoever runs this job may not start pipelines in the downstream project",
    INVALID_TRIGGER: "A pipeline of the same project is triggered with `trigger:include` only",
    TOO_DEEP: f"Child pipelines may be at most {MAX_DEPTH} levels deep",
    TOO_MANY: f"A hierarchy of pipelines may hold at most {MAX_PIPELINES:,}",
    LOOP: f"The pipelines above hold the same project, ref and source more than {MAX_VISITS} times",
}
"""What people read of a refusal; more may follow after a colon."""
REFUSALS: Final = frozenset(TEXT_OF)
"""Failure reasons of a bridge that made no pipeline; another try without a change would end alike."""

_END: Final[Mapping[Status, Status]] = {
    Status.SUCCESS: Status.SUCCESS,
    Status.FAILED: Status.FAILED,
    Status.SKIPPED: Status.FAILED,
    Status.CANCELED: Status.CANCELED,
}
TAKEN_OVER: Final[Mapping[str, Mapping[Status, Status]]] = {
    "": {},
    "depend": _END,
    MIRROR: {**_END, Status.SKIPPED: Status.SKIPPED, Status.MANUAL: Status.MANUAL},
}
"""By strategy: what a bridge becomes by the status of its downstream pipeline; by any other status it runs."""


class Act(StrEnum):
    """What has to be done for a bridge whose downstream pipeline may have changed."""

    NOTHING = "nothing"
    END = "end"
    MIRROR = "mirror"
    REVIVE = "revive"


@dataclass(frozen=True, slots=True)
class Step:
    """An act and the status that goes with it."""

    act: Act
    to: Status = Status.RUNNING


NO_STEP: Final = Step(Act.NOTHING)


def follow(strategy: str, bridge: Status, downstream: Status, *, ended_before: bool) -> Step:
    """What a bridge in the state `bridge` does about its downstream pipeline, which is `downstream` now.

    `ended_before` says that the downstream pipeline was complete at some time: one that is not any more was retried,
    and the bridge, if it is complete, comes to life again. Without a strategy a bridge follows nothing.
    """
    rules = TAKEN_OVER[strategy]
    if not rules:
        return NO_STEP
    if bridge in COMPLETE:
        again = ended_before and downstream not in COMPLETE and bridge is not Status.SKIPPED
        return Step(Act.REVIVE) if again else NO_STEP
    if bridge not in {Status.RUNNING, Status.MANUAL}:
        return NO_STEP
    to = rules.get(downstream, Status.RUNNING)
    if to is bridge:
        return NO_STEP
    return Step(Act.END if to in COMPLETE else Act.MIRROR, to)


@dataclass(frozen=True, slots=True)
class Ancestor:
    """A pipeline above a new one, as far as loops are concerned."""

    project_id: int
    ref: str
    source: str


def refusal(*, child: bool, depth: int, pipelines: int, above: Sequence[Ancestor]) -> str:
    """Why a bridge may make no pipeline, as a failure reason; empty if it may.

    `depth` is that of the bridge's own pipeline, `pipelines` counts those of its hierarchy, `above` is its own pipeline
    with all that have led to it. Child pipelines are no part of a loop: they are bound by the depth.
    """
    if child and depth >= MAX_DEPTH:
        return TOO_DEEP
    if pipelines >= MAX_PIPELINES:
        return TOO_MANY
    visits = Counter(ancestor for ancestor in above if ancestor.source != CHILD)
    if not child and max(visits.values(), default=0) > MAX_VISITS:
        return LOOP
    return ""


@dataclass(frozen=True, slots=True)
class Scope:
    """The variables of a bridge: `predefined` ones, those of the configuration, of the pipeline, and of the job itself.

    `dotenv` are those that jobs before it report. `owners` are those of instance, groups and project: a text can name
    them, but they are never handed down by themselves. Those of the job were given by whoever played it.
    """

    predefined: tuple[JobVariable, ...] = ()
    yaml: Mapping[str, Variable] = field(default_factory=dict)
    dotenv: tuple[JobVariable, ...] = ()
    owners: tuple[JobVariable, ...] = ()
    pipeline: tuple[JobVariable, ...] = ()
    job: tuple[JobVariable, ...] = ()

    def layers(self) -> tuple[JobVariable, ...]:
        """All of them, the weakest first."""
        return (*self.predefined, *_of_yaml(self.yaml), *self.dotenv, *self.owners, *self.pipeline, *self.job)

    def expanded(self, *texts: str) -> tuple[str, ...]:
        """Texts with the variables put in; names that nobody knows become empty. Raises `Invalid` for circles."""
        asked = [JobVariable(_hidden(str(number)), text) for number, text in enumerate(texts)]
        return tuple(variable.value for variable in expand((*self.layers(), *asked))[-len(texts) :])


def forwarded(scope: Scope, *, yaml: bool = True, pipeline: bool = False) -> tuple[JobVariable, ...]:
    """What a downstream pipeline gets as its pipeline variables, expanded as the bridge sees them.

    `yaml` are the variables of the bridge itself, global ones among them, and those that it was played with. A
    variable of the pipeline wins over one of the configuration. Raw ones stay raw.
    """
    chosen = (*(_of_yaml(scope.yaml) if yaml else ()), *(scope.pipeline if pipeline else ()))
    if yaml:
        chosen += scope.job
    last = {variable.key: variable for variable in chosen}
    in_force = {variable.key: variable for variable in scope.layers()}
    # One that is hidden by a stronger variable of the same name, which stays here, is expanded beside that one.
    beside = [
        JobVariable(_hidden(key), variable.value, raw=variable.raw)
        for key, variable in last.items()
        if in_force[key] != variable
    ]
    known = {variable.key: variable for variable in expand((*scope.layers(), *beside))}
    return tuple(
        JobVariable(key, known.get(_hidden(key), known[key]).value, raw=variable.raw) for key, variable in last.items()
    )


def child_configuration(include: Iterable[Document], inputs: Document) -> dict[str, Any]:
    """The configuration of a child pipeline: it includes these files, each with the inputs of the trigger."""
    items = [dict(item) for item in include]
    if inputs:
        items = [{**item, "inputs": {**inputs, **item.get("inputs", {})}} for item in items]
    return {"include": items}


def _of_yaml(variables: Mapping[str, Variable]) -> tuple[JobVariable, ...]:
    return tuple(JobVariable(key, variables[key].value, raw=variables[key].raw) for key in variables)


def _hidden(name: str) -> str:
    """A name that no text can refer to."""
    return f" {name}"
