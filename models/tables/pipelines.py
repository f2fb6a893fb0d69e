"""Pipelines, their stages and jobs."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Index, LargeBinary, UniqueConstraint
from sqlmodel import Field, SQLModel

from domain.pipelines.status import COMPLETE, Status
from models.columns import (
    BIG,
    COUNTING,
    DOCUMENT,
    document,
    document_or_none,
    key,
    moment,
    number,
    only,
    reference,
    reference_anywhere,
    where_given,
)


def _listed(states: Iterable[str]) -> str:
    return ", ".join(f"'{state}'" for state in sorted(states))


OPEN_PIPELINE: Final = f"pipeline.status NOT IN ({_listed(COMPLETE)})"
"""Of few pipelines: a statement that says it in these words reads them by an index of their own."""
OPEN_BRIDGE: Final = f"job.downstream_id IS NOT NULL AND job.status IN ({_listed((Status.RUNNING, Status.MANUAL))})"
"""Of bridges that have triggered a pipeline and have not ended: these words, too, have an index of their own."""


class Pipeline(SQLModel, table=True):
    """One run of a configuration. (`run`, `tick`) is the last recorded decision of its workflow.

    `ref_protected` is what the ref was when the pipeline was made.

    `reasons` says why the pipeline is there, which jobs are not and why, and what the compiler warned of.
    `status_reason` is what people read about an end that no job explains: who canceled it, and why.

    `schedule_description` is that of the schedule which made it, as it was then.
    `origin` is what more is known of the event (`domain.pipelines.origin`); `config_source` where the configuration
    came from (`domain.projects.config_place`).

    `bridge_id` is the job that triggered it (the first one that did) and `upstream_id` that job's pipeline; `root_id`
    is the first pipeline of the whole hierarchy, `depth` counts child pipelines above it. A child has the source
    `parent_pipeline`. `upstream_project_id` is the project of `upstream_id`.

    One for a merge request (and every child of it) has `merge_request`, the facts of it as they were then (fields of
    `domain.variables.predefined.MergeRequestFacts`), and the head of its source branch, `source_sha`; `sha` may be a
    merge of it. `open_merge_requests` are those of its branch, as `group/project!7`.
    """

    __table_args__ = (
        Index("pipeline_of_project", "project_id", "id"),
        Index("pipeline_of_project_by_time", "project_id", "created_at"),
        Index("pipeline_of_ref", "project_id", "ref", "status"),
        *where_given("pipeline", "upstream_id", "upstream_project_id", "root_id", "merge_request_id"),
        Index("pipeline_open", "id", **only(OPEN_PIPELINE)),
        COUNTING,
    )

    id: int | None = key()
    iid: int
    project_id: int = reference("project.id")
    user_id: int = reference("account.id")
    ref: str
    tag: bool = False
    ref_protected: bool = False
    sha: str
    before_sha: str = "0" * 40
    source: str
    name: str = ""
    status: str = Field(index=True)
    commit: dict[str, Any] = document()
    variables: list[dict[str, str]] = document(list)
    reasons: dict[str, Any] = document()
    auto_cancel: dict[str, str] = document()
    yaml_errors: str = ""
    failure_reason: str = ""
    status_reason: str = ""
    schedule_description: str = ""
    origin: dict[str, Any] = document()
    config_source: str = ""
    bridge_id: int | None = Field(default=None, nullable=True, unique=True, sa_type=BIG)
    upstream_id: int | None = reference("pipeline.id", nullable=True)
    upstream_project_id: int | None = reference("project.id", nullable=True)
    root_id: int | None = reference("pipeline.id", nullable=True)
    depth: int = 0
    merge_request_id: int | None = reference("merge_request.id", nullable=True)
    source_sha: str = ""
    merge_request: dict[str, Any] = document()
    open_merge_requests: list[str] = document(list)
    run: int = number()
    tick: int = number()
    created_at: datetime = moment(nullable=False)
    updated_at: datetime = moment(nullable=False)
    started_at: datetime | None = moment()
    finished_at: datetime | None = moment()
    duration: float | None = None


class PipelineConfig(SQLModel, table=True):
    """The configuration that a pipeline was made from, with all that it includes; `merged` is `domain.config.merged`'s.

    A pipeline from before this was kept has none, nor has one without jobs, or whose configuration is too large.
    """

    __tablename__ = "pipeline_config"

    pipeline_id: int = reference("pipeline.id", primary_key=True)
    merged: bytes = Field(sa_type=LargeBinary)


class Stage(SQLModel, table=True):
    """A stage that holds jobs; `position` counts from 0."""

    __table_args__ = (UniqueConstraint("pipeline_id", "position"), COUNTING)

    id: int | None = key()
    pipeline_id: int = reference("pipeline.id")
    position: int
    name: str
    status: str


class Job(SQLModel, table=True):
    """One attempt of a job. All attempts share `first_id`; `retried` marks those with a later one.

    `plan` holds what only the hand-out needs: scripts, variables, artifacts (`domain.config.plan.JobPlan` as JSON,
    without what is as by default). `why` is the clause that put it into the pipeline (`domain.config.why.Why`).
    `variables` and `inputs` (by name; None for the defaults) are those that somebody gave it when they started it.
    `folded` is false while a verdict waits for the workflow to record it. `hand_out` counts how often it was given out.
    `room` is the workflow that waits for the job, empty if it is that of the pipeline.

    `user_id` is whose rights it has: the pipeline's user, or who played or repeated it since. `unknown_caller` says
    that somebody did by hand in Temporal, where nobody knows who it is: then it is the pipeline's user.

    A `bridge` runs on the server: it has triggered `downstream_id`, whose status it takes over by its `strategy`
    (empty, `depend` or `mirror`). `downstream_ended_at` is when that pipeline was first seen complete: one that is not
    any more was retried. That pipeline may be one of another pod (`models.tables.cross_pod`).
    `environment_action` is empty for a job without environment. `script_at` is when its script began by its log, which
    lies between `started_at` and `finished_at`; None while nobody knows.
    """

    __table_args__ = (
        UniqueConstraint("first_id", "attempt"),
        Index("job_of_pipeline", "pipeline_id", "retried"),
        Index("job_by_status", "status", "id"),
        Index("job_of_pipeline_by_status", "pipeline_id", "status"),
        *where_given("job", "downstream_id", "environment_id"),
        *where_given("job", "resource_group_id", after=("status",)),
        *where_given("job", "runner_id", after=("id",)),
        Index("job_of_project", "project_id", "bridge", "id"),
        Index("job_open_bridge", "downstream_id", **only(OPEN_BRIDGE)),
        Index("job_of_project_by_end", "project_id", "finished_at", **only("finished_at IS NOT NULL")),
        Index("job_with_coverage", "pipeline_id", **only("coverage IS NOT NULL")),
        *where_given("job", "started_at", after=("demand_id", "queued_at", "bridge")),
        COUNTING,
    )

    id: int | None = key()
    pipeline_id: int = reference("pipeline.id")
    stage_id: int = reference("stage.id", index=True)
    project_id: int = reference("project.id")
    user_id: int = reference("account.id")
    name: str
    position: int
    stage_position: int
    stage_name: str
    first_id: int | None = Field(default=None, nullable=True, sa_type=BIG)
    attempt: int = 1
    retried: bool = False
    status: str
    when: str
    allow_failure: bool = False
    needs: list[str] | None = Field(default=None, nullable=True, sa_type=DOCUMENT)
    retry: dict[str, Any] = document()
    auto_retry: bool = True
    enqueue: bool = False
    start_in: int | None = None
    due_at: datetime | None = moment()
    plan: dict[str, Any] = document()
    why: dict[str, Any] = document()
    variables: list[dict[str, str]] = document(list)
    inputs: dict[str, Any] | None = document_or_none()
    tags: list[str] = document(list)
    demand_id: int = number()
    timeout: int = 3600
    hand_out: int = 0
    runner_id: int | None = reference("runner.id", nullable=True)
    system_id: str = ""
    cancel_gracefully: bool = False
    folded: bool = True
    failure_reason: str = ""
    exit_code: int | None = None
    exit_codes_allowed: list[int] = document(list)
    log_incomplete: bool = False
    interruptible: bool = False
    room: str = ""
    bridge: bool = False
    strategy: str = ""
    downstream_id: int | None = reference_anywhere("pipeline")
    downstream_ended_at: datetime | None = moment()
    resource_group_id: int | None = reference("resource_group.id", nullable=True)
    environment_id: int | None = reference("environment.id", nullable=True)
    environment_action: str = ""
    created_at: datetime = moment(nullable=False)
    queued_at: datetime | None = moment()
    started_at: datetime | None = moment()
    finished_at: datetime | None = moment()
    canceling_at: datetime | None = moment()
    erased_at: datetime | None = moment()
    unknown_caller: bool = False
    coverage: float | None = None
    script_at: datetime | None = moment()
