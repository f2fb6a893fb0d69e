"""People, projects and runners: the tables around pipelines (`models.pipelines` holds those of the engine)."""

from datetime import date, datetime
from typing import Any, Final

from sqlalchemy import Index, false, text, true
from sqlmodel import Field, SQLModel, UniqueConstraint

from models.columns import document, key, moment, number, reference

COUNTING: dict[str, Any] = {"sqlite_autoincrement": True}
"""No id is ever used again."""


class Installation(SQLModel, table=True):
    """One row: which installation this database belongs to. The Temporal namespace carries the same id.

    `sealed_check` was sealed with the key for secrets: it can be opened by whoever has the right one. `restored_at` is
    when it was put back from a backup, until Temporal has been brought to what it says.
    """

    id: int = Field(default=1, primary_key=True)
    installation_id: str
    pod: str
    registration_token_hash: str = Field(default="")
    sealed_check: str = Field(default="")
    restored_at: datetime | None = moment()
    created_at: datetime = moment(nullable=False)


class User(SQLModel, table=True):
    """A person or a robot that acts.

    `password_hash` is argon2id's own text; empty for whoever cannot sign in by password. `state` is `active` or
    `blocked`: a blocked person's tokens and sessions are worth nothing. A `bot` belongs to a token of a project or
    group. `external` ones see no internal projects. A session is good while it carries its person's `session_epoch`.
    `current_sign_in_at` and `last_sign_in_at` are the last two sign-ins at the pages;
    `last_activity_on` is the day (UTC) of the last call as this person.
    """

    __tablename__ = "account"
    __table_args__ = (
        Index(
            "account_of_others",
            "id",
            sqlite_where=text("is_admin = 0 AND bot = 0"),
            postgresql_where=text("NOT is_admin AND NOT bot"),
        ),
        COUNTING,
    )

    id: int | None = key()
    username: str = Field(unique=True)
    name: str
    email: str
    is_admin: bool = False
    state: str = "active"
    bot: bool = False
    external: bool = False
    password_hash: str = ""
    session_epoch: int = number()
    created_at: datetime = moment(nullable=False)
    current_sign_in_at: datetime | None = moment()
    last_sign_in_at: datetime | None = moment()
    last_activity_on: date | None = Field(default=None, nullable=True)


class AccessToken(SQLModel, table=True):
    """A personal, project or group access token; only its SHA-256 is kept.

    `scopes` are those of `auth.scopes`. It is good until the beginning of the day `expires_on` (UTC); None is for ever.
    The token of a project (`project_id`) or group (`namespace_id`) belongs to a bot that is a member there. One of
    `impersonation` was made by an administrator to act as a person, who neither sees nor revokes it.
    """

    __tablename__ = "access_token"
    __table_args__ = (COUNTING,)

    id: int | None = key()
    user_id: int = reference("account.id", index=True)
    project_id: int | None = reference("project.id", index=True, nullable=True)
    namespace_id: int | None = reference("namespace.id", index=True, nullable=True)
    name: str
    description: str = ""
    scopes: list[str] = document(list)
    token_hash: str = Field(unique=True)
    created_by: int | None = reference("account.id", nullable=True)
    created_at: datetime = moment(nullable=False)
    last_used_at: datetime | None = moment()
    expires_on: date | None = Field(default=None, nullable=True)
    revoked_at: datetime | None = moment()
    impersonation: bool = Field(default=False, sa_column_kwargs={"server_default": false()})


class Namespace(SQLModel, table=True):
    """What owns projects: a group, a group within one, or a person's own (`kind` is `group` or `user`).

    One without a parent is an organisation: it lives in exactly one pod, and `organisation_id` is its own id.
    `trail` holds the ids from the organisation down to this one as `/1/5/9/`. `visibility` is as a project's. Group
    runners register with its registration token. `removal_asked_at`: it goes, and nobody finds it any more.
    """

    __table_args__ = (
        Index(
            "namespace_being_removed",
            "id",
            sqlite_where=text("removal_asked_at IS NOT NULL"),
            postgresql_where=text("removal_asked_at IS NOT NULL"),
        ),
        COUNTING,
    )

    id: int | None = key()
    organisation_id: int = number()
    parent_id: int | None = reference("namespace.id", index=True, nullable=True)
    trail: str = Field(default="", index=True)
    path: str
    full_path: str = Field(unique=True)
    name: str
    kind: str = "group"
    owner_id: int | None = reference("account.id", nullable=True)
    description: str = ""
    visibility: str = "private"
    registration_token_hash: str | None = Field(default=None, unique=True)
    created_at: datetime = moment(nullable=False)
    removal_asked_at: datetime | None = moment()


class NamespaceMember(SQLModel, table=True):
    """Who may do what in all projects of a group and of those within it, by GitLab's access levels."""

    __tablename__ = "namespace_member"

    namespace_id: int = reference("namespace.id", primary_key=True)
    user_id: int = reference("account.id", primary_key=True, index=True)
    access_level: int
    expires_on: date | None = Field(default=None, nullable=True)
    created_at: datetime = moment(nullable=False)


DEFAULT_GIT_DEPTH: Final = 20
"""As GitLab's, for new projects."""


class Project(SQLModel, table=True):
    """A repository with its pipelines. `timeout` is seconds.

    `visibility` is `private` (members), `internal` (everybody who has signed in) or `public`.
    `organisation_id` is the organisation at the top, `namespace_id` the group that it lies in.
    `config_path` is where its configuration is (`domain.projects.config_place`); empty for `.gitlab-ci.yml`.
    `auto_devops_enabled`: pipelines of commits without configuration take ours; None leaves it to the installation.
    `auto_cancel_redundant`: a newer commit of a ref cancels older pipelines as their `workflow:auto_cancel` says.
    `forward_deployment`: a deployment older than the latest successful one of its environment fails.
    `shared_runners_enabled`, `group_runners_enabled`: instance runners, those of the organisation may take its jobs.
    `may_run_as_server`: an administrator lets its jobs run as the server's own user whoever has an account.
    `keep_latest_artifacts`: artifacts stay beyond their time until a later pipeline of the ref has succeeded.
    `max_artifacts_size` is MiB of one file that a job hands in; None leaves it to the installation.
    `ci_delete_pipelines_in_seconds`: pipelines that ended so long ago go; None leaves it to the installation, 0 never.
    `job_tokens_limited`: of other projects' jobs only those on its list get in (`models.job_token_access`).
    `git_depth`: jobs fetch so many commits; None or 0 for all. `git_fetch`: they keep the work tree that their runner
    has of an earlier job; otherwise they clone anew. The variables of a job come before both.
    Project runners register with its registration token.
    `languages` are those of its default branch, as of the last push to it.
    `watched` are bits of `domain.hooks.webhooks`: what its hooks want to hear of, and whether statuses are reported.

    `merge_method` is `merge`, `rebase_merge` or `ff`, `squash_option` `never`, `always`, `default_on` or `default_off`.
    `merge_pipelines_enabled`: pipelines of merge requests test the result of the merge; `merge_trains_enabled`: they
    are merged one after the other. `approvals_required` of others than the author (of them too, with `author_approval`)
    are needed; with `reset_approvals` new commits take them away. `only_merge_if_resolved`: not before all threads are.

    `removal_asked_at`: it goes as soon as its pipelines have ended, and nobody finds it any more.
    """

    __table_args__ = (
        UniqueConstraint("namespace_id", "path"),
        Index(
            "project_being_removed",
            "id",
            sqlite_where=text("removal_asked_at IS NOT NULL"),
            postgresql_where=text("removal_asked_at IS NOT NULL"),
        ),
        COUNTING,
    )

    id: int | None = key()
    organisation_id: int = reference("namespace.id")
    namespace_id: int = reference("namespace.id")
    creator_id: int = reference("account.id")
    path: str
    name: str
    full_path: str = Field(unique=True)
    description: str = ""
    languages: list[str] = document(list)
    archived: bool = False
    config_path: str = ""
    default_branch: str = "main"
    visibility: str = "private"
    timeout: int = 3600
    pipeline_count: int = number()
    deployment_count: int = number()
    watched: int = number()
    auto_cancel_redundant: bool = True
    forward_deployment: bool = True
    shared_runners_enabled: bool = True
    group_runners_enabled: bool = True
    may_run_as_server: bool = Field(default=False, sa_column_kwargs={"server_default": false()})
    keep_latest_artifacts: bool = True
    max_artifacts_size: int | None = None
    auto_devops_enabled: bool | None = None
    ci_delete_pipelines_in_seconds: int | None = None
    git_depth: int | None = Field(
        default=DEFAULT_GIT_DEPTH, sa_column_kwargs={"server_default": str(DEFAULT_GIT_DEPTH)}
    )
    git_fetch: bool = Field(default=True, sa_column_kwargs={"server_default": true()})
    forked_from_id: int | None = reference("project.id", index=True, nullable=True)
    merge_request_count: int = number()
    merge_method: str = "merge"
    squash_option: str = "default_off"
    only_merge_if_pipeline_succeeds: bool = False
    allow_merge_on_skipped_pipeline: bool = False
    only_merge_if_resolved: bool = Field(default=False, sa_column_kwargs={"server_default": false()})
    remove_source_branch_after_merge: bool = True
    merge_pipelines_enabled: bool = False
    merge_trains_enabled: bool = False
    approvals_required: int = 0
    author_approval: bool = False
    reset_approvals: bool = True
    job_tokens_limited: bool = True
    registration_token_hash: str | None = Field(default=None, unique=True)
    created_at: datetime = moment(nullable=False)
    removal_asked_at: datetime | None = moment()


class Member(SQLModel, table=True):
    """Who may do what in a project, by GitLab's access levels; until the beginning of the day `expires_on`."""

    project_id: int = reference("project.id", primary_key=True)
    user_id: int = reference("account.id", primary_key=True, index=True)
    access_level: int
    expires_on: date | None = Field(default=None, nullable=True)
    created_at: datetime | None = moment()


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
