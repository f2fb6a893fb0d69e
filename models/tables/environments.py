"""Resource groups, environments, deployments and releases: what jobs of many pipelines share in a project."""

from datetime import datetime
from typing import Any

from sqlalchemy import Index, UniqueConstraint, text
from sqlmodel import Field, SQLModel

from models.columns import BIG, COUNTING, document, key, moment, reference, where_given


class ResourceGroup(SQLModel, table=True):
    """One slot per key and project. It is free while the row of its holder is complete, or while there is none.

    `process_mode` is `unordered`, `oldest_first`, `newest_first` or `newest_ready_first`.
    """

    __tablename__ = "resource_group"
    __table_args__ = (UniqueConstraint("project_id", "key"), COUNTING)

    id: int | None = key()
    project_id: int = reference("project.id")
    key: str
    process_mode: str = "unordered"
    holder_id: int | None = Field(default=None, nullable=True, sa_type=BIG)
    created_at: datetime = moment(nullable=False)
    updated_at: datetime = moment(nullable=False)


class Environment(SQLModel, table=True):
    """Where jobs of a project deploy to. `state` is `available`, `stopping` or `stopped`; `tier` is fixed word.

    At `auto_stop_at` the stop job of its last deployment is played. `kubernetes` is what that said of a cluster.
    """

    __table_args__ = (UniqueConstraint("project_id", "name"), COUNTING)

    id: int | None = key()
    project_id: int = reference("project.id")
    name: str
    slug: str
    tier: str
    external_url: str = ""
    state: str = "available"
    auto_stop_at: datetime | None = moment()
    created_at: datetime = moment(nullable=False)
    updated_at: datetime = moment(nullable=False)
    kubernetes: dict[str, Any] = document()


class Deployment(SQLModel, table=True):
    """A job that deploys to an environment, from when it was first enqueued: its status is that of its job.

    Or one that somebody reports, without job and pipeline: it has `status`, `updated_at` and `finished_at` itself.
    `on_stop` is the name of the job that stops the environment; `auto_stop_in` is seconds after the success.
    """

    __table_args__ = (
        UniqueConstraint("project_id", "iid"),
        Index("deployment_of_environment", "environment_id", "id"),
        Index("deployment_of_project", "project_id", "id"),
        COUNTING,
    )

    id: int | None = key()
    iid: int
    project_id: int = reference("project.id")
    environment_id: int = reference("environment.id")
    job_id: int | None = Field(default=None, foreign_key="job.id", nullable=True, unique=True, sa_type=BIG)
    pipeline_id: int | None = reference("pipeline.id", index=True, nullable=True)
    user_id: int = reference("account.id")
    ref: str
    tag: bool = False
    sha: str
    on_stop: str = ""
    auto_stop_in: int | None = None
    status: str = Field(default="", sa_column_kwargs={"server_default": text("''")})
    created_at: datetime = moment(nullable=False)
    updated_at: datetime | None = moment()
    finished_at: datetime | None = moment()


class Release(SQLModel, table=True):
    """A release of a project: a tag with notes, milestones and links, made by a job or by a person."""

    __table_args__ = (UniqueConstraint("project_id", "tag"), *where_given("release", "job_id"), COUNTING)

    id: int | None = key()
    project_id: int = reference("project.id")
    user_id: int = reference("account.id")
    job_id: int | None = reference("job.id", nullable=True)
    tag: str
    name: str
    description: str = ""
    sha: str
    milestones: list[str] = document(list)
    assets: dict[str, Any] = document()
    released_at: datetime = moment(nullable=False)
    created_at: datetime = moment(nullable=False)
