"""What a CI configuration compiles to: frozen, complete, with every default filled in and every name expanded."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class When(StrEnum):
    """When a job runs (reference: CI YAML, section 6)."""

    ON_SUCCESS = "on_success"
    ON_FAILURE = "on_failure"
    ALWAYS = "always"
    MANUAL = "manual"
    DELAYED = "delayed"


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of the configuration. A `raw` one (`expand: false`) keeps its `$` signs."""

    value: str
    raw: bool = False


@dataclass(frozen=True, slots=True)
class Need:
    """A job that must end before; `job` is the full name of one instance of a parallel job."""

    job: str
    artifacts: bool = True
    optional: bool = False


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """At most `max` further attempts; none of `when` and `exit_codes` means after any failure."""

    max: int = 0
    when: tuple[str, ...] = ()
    exit_codes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Image:
    """The container image a job asks for."""

    name: str
    entrypoint: tuple[str, ...] = ()
    pull_policy: tuple[str, ...] = ()
    docker: Mapping[str, str] = field(default_factory=dict)
    kubernetes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Artifacts:
    """Files that a job hands on. `expire_in` stays text for the runner; `reports` maps a type to its paths."""

    paths: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    untracked: bool = False
    name: str = ""
    when: str = "on_success"
    expire_in: str = ""
    reports: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class JobPlan:
    """One job of a pipeline, one instance of a parallel one.

    `needs` is None for a job that waits for its stages, and a tuple (empty ones too) for one that waits only for needs.
    `dependencies` is None for the default: all jobs of earlier stages, or all needs. `script` holds no `before_script`.
    `timeout` and `start_in` are seconds. `variables` are the YAML's own for this job: global ones, then its own, then
    those of its matrix.
    """

    name: str
    stage: str
    script: tuple[str, ...]
    before_script: tuple[str, ...] = ()
    after_script: tuple[str, ...] = ()
    when: When = When.ON_SUCCESS
    start_in: int | None = None
    allow_failure: bool = False
    allow_failure_exit_codes: tuple[int, ...] = ()
    needs: tuple[Need, ...] | None = None
    dependencies: tuple[str, ...] | None = None
    variables: Mapping[str, Variable] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    image: Image | None = None
    artifacts: Artifacts | None = None
    timeout: int | None = None
    retry: RetryPolicy = RetryPolicy()
    node_index: int | None = None
    node_total: int | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """A whole pipeline: the stages that hold jobs, in order, and the jobs in the order of the text."""

    stages: tuple[str, ...]
    jobs: tuple[JobPlan, ...]
