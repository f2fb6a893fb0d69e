"""Projects and their members."""

from datetime import date, datetime
from typing import Final

from sqlalchemy import Index, false, text, true
from sqlmodel import Field, SQLModel, UniqueConstraint

from models.columns import COUNTING, document, key, moment, number, reference

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
    `job_tokens_limited`: of other projects' jobs only those on its list get in (`models.tables.job_token_access`).
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
