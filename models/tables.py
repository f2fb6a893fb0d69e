"""People, projects and runners: the tables around pipelines (`models.pipelines` holds those of the engine)."""

from datetime import datetime
from typing import Any

from sqlmodel import Field, SQLModel, UniqueConstraint

from models.columns import document, key, moment, number, reference

COUNTING: dict[str, Any] = {"sqlite_autoincrement": True}
"""No id is ever used again."""


class Installation(SQLModel, table=True):
    """One row: which installation this database belongs to. The Temporal namespace carries the same id."""

    id: int = Field(default=1, primary_key=True)
    installation_id: str
    pod: str
    registration_token_hash: str = Field(default="")
    created_at: datetime = moment(nullable=False)


class User(SQLModel, table=True):
    """A person or a robot that acts."""

    __tablename__ = "account"
    __table_args__ = (COUNTING,)

    id: int | None = key()
    username: str = Field(unique=True)
    name: str
    email: str
    is_admin: bool = False
    created_at: datetime = moment(nullable=False)


class AccessToken(SQLModel, table=True):
    """A personal access token; only its SHA-256 is kept."""

    __tablename__ = "access_token"
    __table_args__ = (COUNTING,)

    id: int | None = key()
    user_id: int = reference("account.id", index=True)
    name: str
    token_hash: str = Field(unique=True)
    created_at: datetime = moment(nullable=False)
    revoked_at: datetime | None = moment()


class Organisation(SQLModel, table=True):
    """What owns projects; lives in exactly one pod. Group runners register with its registration token."""

    __table_args__ = (COUNTING,)

    id: int | None = key()
    path: str = Field(unique=True)
    name: str
    registration_token_hash: str | None = Field(default=None, unique=True)
    created_at: datetime = moment(nullable=False)


class Project(SQLModel, table=True):
    """A repository with its pipelines. `visibility` is `private` or `public`; `timeout` is seconds.

    `auto_cancel_redundant`: a newer commit of a ref cancels older pipelines as their `workflow:auto_cancel` says.
    `forward_deployment`: a deployment older than the latest successful one of its environment fails.
    `shared_runners_enabled`, `group_runners_enabled`: instance runners, those of the organisation may take its jobs.
    `keep_latest_artifacts`: artifacts stay beyond their time until a later pipeline of the ref has succeeded.
    `max_artifacts_size` is MiB of one file that a job hands in; None leaves it to the installation.
    Project runners register with its registration token.
    """

    __table_args__ = (UniqueConstraint("organisation_id", "path"), COUNTING)

    id: int | None = key()
    organisation_id: int = reference("organisation.id")
    creator_id: int = reference("account.id")
    path: str
    name: str
    full_path: str = Field(unique=True)
    default_branch: str = "main"
    visibility: str = "private"
    timeout: int = 3600
    pipeline_count: int = number()
    deployment_count: int = number()
    auto_cancel_redundant: bool = True
    forward_deployment: bool = True
    shared_runners_enabled: bool = True
    group_runners_enabled: bool = True
    keep_latest_artifacts: bool = True
    max_artifacts_size: int | None = None
    registration_token_hash: str | None = Field(default=None, unique=True)
    created_at: datetime = moment(nullable=False)


class Member(SQLModel, table=True):
    """Who may do what in a project, by GitLab's access levels."""

    project_id: int = reference("project.id", primary_key=True)
    user_id: int = reference("account.id", primary_key=True)
    access_level: int


class Runner(SQLModel, table=True):
    """A registered runner. `runner_type` is one of `domain.matching.RunnerType`; `maximum_timeout` is seconds.

    `organisation_id` is that of a group or project runner; an instance runner has none. `by_registration` is true for
    one that a registration token made. `previous_token_hash` is that of the token before the last reset, which is good
    until the new one is used; `token_expires_at` is the end of both, None for never.
    """

    __table_args__ = (COUNTING,)

    id: int | None = key()
    token_hash: str = Field(unique=True)
    previous_token_hash: str | None = Field(default=None, unique=True)
    token_expires_at: datetime | None = moment()
    by_registration: bool = False
    runner_type: str = "instance_type"
    organisation_id: int | None = reference("organisation.id", index=True, nullable=True)
    description: str = ""
    tags: list[str] = document(list)
    run_untagged: bool = True
    locked: bool = False
    paused: bool = False
    ref_protected: bool = False
    maximum_timeout: int | None = None
    maintenance_note: str = ""
    created_at: datetime = moment(nullable=False)
    contacted_at: datetime | None = moment()


class RunnerProject(SQLModel, table=True):
    """A project whose jobs a project runner takes."""

    __tablename__ = "runner_project"

    runner_id: int = reference("runner.id", primary_key=True)
    project_id: int = reference("project.id", primary_key=True, index=True)


class RunnerManager(SQLModel, table=True):
    """One process of a runner, known by its system id."""

    __tablename__ = "runner_manager"
    __table_args__ = (UniqueConstraint("runner_id", "system_id"), COUNTING)

    id: int | None = key()
    runner_id: int = reference("runner.id")
    system_id: str
    info: dict[str, Any] = document()
    ip_address: str = ""
    created_at: datetime = moment(nullable=False)
    contacted_at: datetime = moment(nullable=False)
