"""Runners, the projects that they serve, and the machines that they run on."""

from datetime import datetime
from typing import Any

from sqlalchemy import false
from sqlmodel import Field, SQLModel, UniqueConstraint

from models.columns import COUNTING, document, key, moment, reference


class Runner(SQLModel, table=True):
    """A registered runner. `runner_type` is one of `domain.runners.matching.RunnerType`; `maximum_timeout` is seconds.

    `organisation_id` is that of a group or project runner; an instance runner has none. `namespace_id` is the group
    within it whose jobs a group runner takes, None for all of the organisation. `by_registration` is true for
    one that a registration token made. `previous_token_hash` is that of the token before the last reset, which is good
    until the new one is used; `token_expires_at` is the end of both, None for never. `token_form` is 0 for tokens that
    begin like all others of their kind, 1 for those that begin with chance. `as_server`: its jobs run as the server's
    own user, so it takes those of everybody only while all accounts are administrators' (`domain.runners.matching`).
    """

    __table_args__ = (COUNTING,)

    id: int | None = key()
    token_hash: str = Field(unique=True)
    previous_token_hash: str | None = Field(default=None, unique=True)
    token_expires_at: datetime | None = moment()
    token_form: int = 0
    by_registration: bool = False
    runner_type: str = "instance_type"
    organisation_id: int | None = reference("namespace.id", index=True, nullable=True)
    namespace_id: int | None = reference("namespace.id", nullable=True)
    description: str = ""
    tags: list[str] = document(list)
    run_untagged: bool = True
    locked: bool = False
    paused: bool = False
    ref_protected: bool = False
    as_server: bool = Field(default=False, sa_column_kwargs={"server_default": false()})
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
