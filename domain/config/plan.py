"""What a CI configuration compiles to: frozen, complete, with every default filled in and every name expanded.

Values of type `Document` are plain JSON (mappings, lists, text, numbers, booleans, null): checked, and carried as they
were written.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, TypeAlias

from domain.config.issue import ConfigIssue
from domain.config.why import PRESENT, Why

Document: TypeAlias = Mapping[str, Any]
"""A JSON object."""


class When(StrEnum):
    """When a job runs (docs/reference/ci-yaml.md, "Job keywords")."""

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
class Prefill:
    """What the form that starts a pipeline by hand says of a global variable."""

    description: str
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Need:
    """A job that must end before; `job` is the full name of one instance of a parallel job."""

    job: str
    artifacts: bool = True
    optional: bool = False


@dataclass(frozen=True, slots=True)
class ForeignNeed:
    """A need outside this pipeline. Source: docs/reference/ci-yaml.md, "Needs".

    `pipeline` (an id, may hold variables) and `job`: artifacts of an upstream pipeline's job; `pipeline` alone, on a
    bridge: mirror that pipeline's status; `project`, `ref` and `job`: artifacts of another project's latest job.
    """

    job: str = ""
    artifacts: bool = True
    optional: bool = False
    pipeline: str = ""
    project: str = ""
    ref: str = ""


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
class Service:
    """A container that runs beside the job, reachable by `alias` (several are separated by blanks or commas)."""

    image: Image
    alias: str = ""
    command: tuple[str, ...] = ()
    variables: Mapping[str, Variable] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CacheKey:
    """How a cache is found: `text`, or the hash of `files` (`files_commits`: of their last commits) after `prefix`."""

    text: str = "default"
    files: tuple[str, ...] = ()
    files_commits: tuple[str, ...] = ()
    prefix: str = ""


@dataclass(frozen=True, slots=True)
class Cache:
    """Files kept from one run of a job to the next; `policy` may be a variable's name with its `$`."""

    key: CacheKey = CacheKey()
    paths: tuple[str, ...] = ()
    untracked: bool = False
    policy: str = "pull-push"
    when: str = "on_success"
    unprotect: bool = False
    fallback_keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CoverageReport:
    """A report of covered lines; `coverage_format` is `cobertura` or `jacoco`."""

    coverage_format: str
    path: str


@dataclass(frozen=True, slots=True)
class Artifacts:
    """Files that a job hands on. `expire_in` stays text for the runner; `reports` maps a type to its paths.

    `access` is `all`, `developer`, `maintainer` or `none`; `public: false` is read as `developer`.
    """

    paths: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    untracked: bool = False
    name: str = ""
    when: str = "on_success"
    expire_in: str = ""
    reports: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    coverage_report: CoverageReport | None = None
    expose_as: str = ""
    access: str = "all"


@dataclass(frozen=True, slots=True)
class Environment:
    """Where a job deploys to; `name` and `url` may hold variables. `auto_stop_in` is the text as written."""

    name: str
    url: str = ""
    action: str = "start"
    on_stop: str = ""
    auto_stop_in: str = ""
    deployment_tier: str = ""
    kubernetes: Document = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Trigger:
    """The downstream pipeline of a bridge: another `project`, or a child with the files of `include`.

    `strategy` is empty, `depend` or `mirror`.
    """

    project: str = ""
    branch: str = ""
    include: tuple[Document, ...] = ()
    strategy: str = ""
    inputs: Document = field(default_factory=dict)
    forward_yaml_variables: bool = True
    forward_pipeline_variables: bool = False


@dataclass(frozen=True, slots=True)
class Pages:
    """A job that publishes a site."""

    publish: str = "public"
    path_prefix: str = ""
    expire_in: str = ""


@dataclass(frozen=True, slots=True)
class AutoCancel:
    """What a newer commit or a failed job cancels.

    Source: docs/reference/ci-yaml.md, "Global keywords"; docs/reference/pipelines.md, "Automatic cancel".
    """

    on_new_commit: str = "conservative"
    on_job_failure: str = "none"


NO_RETRY: Final = RetryPolicy()


@dataclass(frozen=True, slots=True)
class JobPlan:
    """One job of a pipeline, one instance of a parallel one.

    `needs` is None for a job that waits for its stages, and a tuple (empty ones too) for one that waits only for needs.
    `dependencies` is None for the default: all jobs of earlier stages, or all needs. `script` holds no `before_script`.
    `timeout` and `start_in` are seconds. `variables` are the YAML's own for this job: global ones, those of the
    workflow's rule, its own, those of its matrix, those of its rule. `trigger` makes it a bridge, which has no script.
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
    foreign_needs: tuple[ForeignNeed, ...] = ()
    dependencies: tuple[str, ...] | None = None
    variables: Mapping[str, Variable] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    image: Image | None = None
    services: tuple[Service, ...] = ()
    cache: tuple[Cache, ...] = ()
    artifacts: Artifacts | None = None
    timeout: int | None = None
    retry: RetryPolicy = NO_RETRY
    node_index: int | None = None
    node_total: int | None = None
    environment: Environment | None = None
    resource_group: str = ""
    interruptible: bool | None = None
    coverage: str = ""
    manual_confirmation: str = ""
    trigger: Trigger | None = None
    run: tuple[Document, ...] = ()
    hooks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    id_tokens: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    secrets: Mapping[str, Document] = field(default_factory=dict)
    identity: str = ""
    dast_configuration: Document = field(default_factory=dict)
    inputs: Mapping[str, Document] = field(default_factory=dict)
    release: Document = field(default_factory=dict)
    pages: Pages | None = None
    why: Why = PRESENT


@dataclass(frozen=True, slots=True)
class AbsentJob:
    """A job of the configuration that is not in the pipeline, and why. `name` is the written one."""

    name: str
    stage: str
    why: Why


@dataclass(frozen=True, slots=True)
class Included:
    """A file that was included: its kind (`local`, `project`, ...), its address as written, and who included it."""

    kind: str
    location: str
    by: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """A whole pipeline: the stages that hold jobs, in order, and the jobs in the order of the text.

    `variables` are the global ones with those of the workflow's rule. `reads` holds the names of all variables that
    decided something: with other values of them the plan may be another one. `lasting` is false if it also depends on
    what may change while the commit does not: other projects, addresses, other refs. `merged` is the configuration
    itself as it is kept (`domain.config.merged`).
    """

    stages: tuple[str, ...]
    jobs: tuple[JobPlan, ...]
    absent: tuple[AbsentJob, ...] = ()
    name: str = ""
    auto_cancel: AutoCancel = AutoCancel()
    variables: Mapping[str, Variable] = field(default_factory=dict)
    prefill: Mapping[str, Prefill] = field(default_factory=dict)
    why: Why = PRESENT
    includes: tuple[Included, ...] = ()
    warnings: tuple[ConfigIssue, ...] = ()
    reads: frozenset[str] = frozenset()
    lasting: bool = True
    merged: bytes = b""
