"""Pipelines, jobs, their logs and artifacts, and the outbox: the tables of the engine."""

from datetime import datetime
from typing import Any

from sqlalchemy import Index, LargeBinary, UniqueConstraint, text
from sqlmodel import Field, SQLModel

from models.columns import BIG, DOCUMENT, document, key, moment, number, number_or_none, reference
from models.tables import COUNTING


def _where_given(*columns: str, after: tuple[str, ...] = ()) -> tuple[Index, ...]:
    """Indices of columns that few jobs have; `after` are further columns of each."""
    given = {column: text(f"{column} IS NOT NULL") for column in columns}
    return tuple(
        Index(f"job_by_{column}", column, *after, sqlite_where=where, postgresql_where=where)
        for column, where in given.items()
    )


_THERE = text("object_key <> ''")
_EXPIRES = text("expire_at IS NOT NULL AND object_key <> ''")
_UNPARSED = text("NOT parsed")


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
        Index("pipeline_of_ref", "project_id", "ref", "status"),
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
    upstream_id: int | None = reference("pipeline.id", index=True, nullable=True)
    upstream_project_id: int | None = reference("project.id", nullable=True)
    root_id: int | None = reference("pipeline.id", index=True, nullable=True)
    depth: int = 0
    merge_request_id: int | None = reference("merge_request.id", index=True, nullable=True)
    source_sha: str = ""
    merge_request: dict[str, Any] = document()
    open_merge_requests: list[str] = document(list)
    run: int = number()
    tick: int = number()
    created_at: datetime = moment(nullable=False)
    updated_at: datetime = moment(nullable=False)
    started_at: datetime | None = moment()
    finished_at: datetime | None = moment()


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
    `folded` is false while a verdict waits for the workflow to record it. `hand_out` counts how often it was given out.
    `room` is the workflow that waits for the job, empty if it is that of the pipeline.

    `user_id` is whose rights it has: the pipeline's user, or who played or repeated it since. `unknown_caller` says
    that somebody did by hand in Temporal, where nobody knows who it is: then it is the pipeline's user.

    A `bridge` runs on the server: it has triggered `downstream_id`, whose status it takes over by its `strategy`
    (empty, `depend` or `mirror`). `downstream_ended_at` is when that pipeline was first seen complete: one that is not
    any more was retried. `environment_action` is empty for a job without environment.
    """

    __table_args__ = (
        UniqueConstraint("first_id", "attempt"),
        Index("job_of_pipeline", "pipeline_id", "retried"),
        Index("job_by_status", "status", "id"),
        Index("job_of_pipeline_by_status", "pipeline_id", "status"),
        *_where_given("downstream_id", "environment_id"),
        *_where_given("resource_group_id", after=("status",)),
        *_where_given("runner_id", after=("id",)),
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
    downstream_id: int | None = reference("pipeline.id", nullable=True)
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


class QueueDemand(SQLModel, table=True):
    """What jobs that wait have in common (`domain.runners.matching.Demand`). `tag_key` is its sorted tags as JSON.

    Rows stay: there are as many as a project has different lists of tags.
    """

    __tablename__ = "queue_demand"
    __table_args__ = (UniqueConstraint("project_id", "tag_key", "ref_protected"), COUNTING)

    id: int | None = key()
    project_id: int = reference("project.id")
    organisation_id: int = number()
    tag_key: str
    tagged: bool
    ref_protected: bool


class QueueDemandTag(SQLModel, table=True):
    """A tag of a demand."""

    __tablename__ = "queue_demand_tag"

    demand_id: int = reference("queue_demand.id", primary_key=True)
    tag: str = Field(primary_key=True)


class QueueEntry(SQLModel, table=True):
    """A pending job, as the claim sees it; written and removed together with the job's status.

    `since` is when it came into the queue: seconds since 1970 by the database's clock.
    """

    __tablename__ = "queue_entry"
    __table_args__ = (Index("queue_order", "demand_id", "job_id"),)

    job_id: int = reference("job.id", primary_key=True)
    demand_id: int = number()
    since: float = 0.0


class Lease(SQLModel, table=True):
    """Who holds a running job. `contact` is the tick from which its silence counts, `since` that from which it runs.

    Both are ahead of what happened while it has a bonus after an outage; then `called` is the tick of the last call,
    `claimed` that of the claim. None: the same as `contact` and `since`.

    `request_id` names the request that claimed it. `load_of` is the job's project when an instance runner holds it.
    """

    __table_args__ = (
        Index(
            "lease_by_load",
            "load_of",
            sqlite_where=text("load_of IS NOT NULL"),
            postgresql_where=text("load_of IS NOT NULL"),
        ),
    )

    job_id: int = reference("job.id", primary_key=True)
    load_of: int | None = Field(default=None, nullable=True, sa_type=BIG)
    hand_out: int
    taken_up: bool = False
    contact: int = number()
    since: int = number()
    called: int | None = number_or_none()
    claimed: int | None = number_or_none()
    request_id: str = Field(default="", index=True)


class LeaseClock(SQLModel, table=True):
    """One row: ticks in which this installation really served.

    Until tick `calm_until` nothing is ended that only waited too long by the clock: an outage has just passed.
    """

    __tablename__ = "lease_clock"

    id: int = Field(default=1, primary_key=True)
    ticks: int = number()
    ticked_at: float = 0.0
    calm_until: int = number()


class Trace(SQLModel, table=True):
    """The log of a job. `crc` is the CRC-32 of all `size` bytes.

    A log that is sent again is a new `generation`; `earlier_size` and `earlier_crc` are those of the one before it.
    `copied` is true once the store holds all of it and readers go there, `stored` once its chunks are gone too.
    `watched` is the tick of the lease clock at which somebody last read it while it grew.
    """

    job_id: int = reference("job.id", primary_key=True)
    generation: int = 0
    size: int = number()
    crc: int = number()
    earlier_size: int = number()
    earlier_crc: int = number()
    frozen: bool = False
    resent: bool = False
    copied: bool = False
    stored: bool = Field(default=False, index=True)
    watched: int | None = Field(default=None, nullable=True, sa_type=BIG)


class TraceChunk(SQLModel, table=True):
    """Bytes of a log, until the whole log is an object in the store."""

    __tablename__ = "trace_chunk"

    job_id: int = reference("job.id", primary_key=True)
    generation: int = Field(primary_key=True)
    start: int = Field(primary_key=True, sa_type=BIG)
    content: bytes = Field(sa_type=LargeBinary)


class Artifact(SQLModel, table=True):
    """A file that a job handed in; its bytes are in the store under `object_key`.

    Of an archive that has expired or was erased the row stays without a key: jobs that depend on it must not run.
    `access` says who may read it (`all`, `developer`, `maintainer`, `none`). `parsed` is false while a report waits to
    be read into its table.
    """

    __table_args__ = (
        UniqueConstraint("job_id", "file_type"),
        Index("artifact_by_expiry", "expire_at", sqlite_where=_EXPIRES, postgresql_where=_EXPIRES),
        Index("artifact_of_project", "project_id", "expire_at", sqlite_where=_THERE, postgresql_where=_THERE),
        Index("artifact_to_parse", "id", sqlite_where=_UNPARSED, postgresql_where=_UNPARSED),
        COUNTING,
    )

    id: int | None = key()
    job_id: int = reference("job.id", index=True)
    project_id: int = number()
    file_type: str
    file_format: str
    filename: str
    size: int = number()
    sha256: str
    object_key: str
    access: str = "all"
    parsed: bool = True
    expire_at: datetime | None = moment()
    created_at: datetime = moment(nullable=False)


class ObjectToDelete(SQLModel, table=True):
    """An object of the store that no row speaks of, or not yet: an upload on its way, or what is to be removed.

    The key of an upload is written before its first byte; it goes, or is `doomed`, when the upload is over or too old.
    """

    __tablename__ = "object_to_delete"

    object_key: str = Field(primary_key=True)
    doomed: bool = Field(default=False, index=True)
    created_at: datetime = moment(nullable=False)


class TestReport(SQLModel, table=True):
    """What a JUnit report of a job says; `cases` holds every test case."""

    __tablename__ = "test_report"
    __test__ = False

    job_id: int = reference("job.id", primary_key=True)
    pipeline_id: int = reference("pipeline.id", index=True)
    total: int
    failed: int
    errored: int
    skipped: int
    seconds: float
    cases: list[dict[str, Any]] = document(list)
    error: str = ""


class Outbox(SQLModel, table=True):
    """What SQL has to tell Temporal. `sent_at` is when Temporal took it; a row goes when its effect is recorded."""

    __table_args__ = (Index("outbox_unsent", "sent_at", "not_before"), COUNTING)

    id: int | None = key()
    kind: str
    pipeline_id: int = reference("pipeline.id", index=True)
    job_id: int | None = reference("job.id", nullable=True)
    payload: dict[str, Any] = document()
    attempts: int = 0
    error: str = ""
    created_at: datetime = moment(nullable=False)
    not_before: datetime = moment(nullable=False)
    sent_at: datetime | None = moment()


class OperationKey(SQLModel, table=True):
    """A command that a workflow has answered, so that a repetition gets the same answer.

    `caller_id` is the account that asked for it, None where nobody knows: a signal by hand.
    """

    __tablename__ = "operation_key"

    pipeline_id: int = reference("pipeline.id", primary_key=True)
    key: str = Field(primary_key=True)
    answer: dict[str, Any] = document()
    caller_id: int | None = number_or_none()
    created_at: datetime = moment(nullable=False)


class OperationCaller(SQLModel, table=True):
    """Who asked for a command, until the workflow has answered it: Temporal knows nobody."""

    __tablename__ = "operation_caller"

    pipeline_id: int = reference("pipeline.id", primary_key=True)
    key: str = Field(primary_key=True)
    name: str
    job_id: int | None = reference("job.id", nullable=True)
    user_id: int = reference("account.id")


class PlayVariables(SQLModel, table=True):
    """Variables of a `play_job` until the workflow has answered the command of that key: they never cross Temporal."""

    __tablename__ = "play_variables"

    pipeline_id: int = reference("pipeline.id", primary_key=True)
    key: str = Field(primary_key=True)
    job_id: int = reference("job.id")
    variables: list[dict[str, str]] = document(list)


class Push(SQLModel, table=True):
    """Refs that a push is about to move: written before git runs, so that no moved ref lacks its pipeline."""

    __table_args__ = (COUNTING,)

    id: int | None = key()
    project_id: int = reference("project.id", index=True)
    user_id: int = reference("account.id")
    updates: list[dict[str, str]] = document(list)
    options: list[str] = document(list)
    done_at: datetime | None = moment()
    created_at: datetime = moment(nullable=False)
