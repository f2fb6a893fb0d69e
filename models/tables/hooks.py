"""Webhooks, what they are told, and the forges that statuses of pipelines are reported to."""

from datetime import datetime
from typing import Any, Final

from sqlalchemy import Index, Text, UniqueConstraint
from sqlmodel import Field, SQLModel

from models.columns import BIG, COUNTING, document, key, moment, number, only, reference, where_given

_OPEN: Final = "state = 'open'"
_OF_MANY: Final = "scope <> 'project'"


def _sealed() -> Any:
    """A text that is encrypted; empty for none."""
    return Field(default="", nullable=False, sa_type=Text)


class Hook(SQLModel, table=True):
    """A webhook. `scope` is a `domain.hooks.webhooks.HookScope`: of a project, of a group, or of the installation.

    `events` are bits of `domain.hooks.webhooks`.

    `token` goes out as it is, with `signing_token` bodies are signed; `custom_headers` and `url_variables` are JSON
    objects. All four are sealed. `failures` in a row switch the hook off until `disabled_until`, in the end for good.
    """

    __table_args__ = (Index("hook_of_many", "id", **only(_OF_MANY)), COUNTING)

    id: int | None = key()
    scope: str = "project"
    project_id: int | None = reference("project.id", index=True, nullable=True)
    namespace_id: int | None = reference("namespace.id", index=True, nullable=True)
    uuid: str
    url: str
    name: str = ""
    description: str = ""
    events: int = number()
    branch_filter: str = ""
    branch_filter_strategy: str = "wildcard"
    verify_tls: bool = True
    token: str = _sealed()
    signing_token: str = _sealed()
    custom_headers: str = _sealed()
    url_variables: str = _sealed()
    failures: int = 0
    disabled_until: datetime | None = moment()
    created_at: datetime = moment(nullable=False)


class HookEvent(SQLModel, table=True):
    """Something that happened and that hooks want to hear of. `kind` is a `domain.hooks.webhooks.Event`.

    `facts` are what later changes would hide: the status then, of a pipeline that of its jobs too, commits of a push.
    One of the kind `system` belongs to no project, and its facts are the whole body.
    """

    __tablename__ = "hook_event"
    __table_args__ = (
        Index("hook_event_by_age", "created_at"),
        *where_given("hook_event", "project_id", "pipeline_id", "job_id"),
        COUNTING,
    )

    id: int | None = key()
    project_id: int | None = reference("project.id", nullable=True)
    kind: str
    uuid: str
    user_id: int | None = reference("account.id", nullable=True)
    pipeline_id: int | None = reference("pipeline.id", nullable=True)
    job_id: int | None = reference("job.id", nullable=True)
    facts: dict[str, Any] = document()
    created_at: datetime = moment(nullable=False)


class HookDelivery(SQLModel, table=True):
    """An event on its way to a hook: `state` is `open`, `delivered` or `failed`.

    An open one is looked at when it is `due_at`: its workflow is started then, unless it runs. `single` is true for one
    that is tried once: a test, or one that somebody sends again. `hook_id` refers to nothing by force, so that a hook
    which is deleted at that moment breaks no change of a status. `body` is what is sent, the same each time: zlib,
    base64, sealed; empty before the first attempt. `tries` tell of each attempt; the `response_...` are of the last.
    """

    __tablename__ = "hook_delivery"
    __table_args__ = (
        Index("hook_delivery_due", "due_at", **only(_OPEN)),
        Index("hook_delivery_of_hook", "hook_id", "id"),
        COUNTING,
    )

    id: int | None = key()
    hook_id: int = number()
    event_id: int = reference("hook_event.id", index=True)
    uuid: str
    state: str = "open"
    single: bool = False
    attempts: int = 0
    due_at: datetime = moment(nullable=False)
    body: str = _sealed()
    request_headers: dict[str, str] = document()
    response_status: int | None = None
    response_headers: dict[str, str] = document()
    response_body: str = Field(default="", nullable=False, sa_type=Text)
    duration: float = 0.0
    error: str = Field(default="", nullable=False, sa_type=Text)
    tries: list[dict[str, Any]] = document(list)
    created_at: datetime = moment(nullable=False)
    attempted_at: datetime | None = moment()


class ForgeLink(SQLModel, table=True):
    """Where the statuses of a project's pipelines are reported to. `kind` is a `domain.hooks.commit_statuses.Forge`.

    `token` is sealed; statuses appear as `context_prefix` and `/pipeline`.
    """

    __tablename__ = "forge_link"
    __table_args__ = (UniqueConstraint("project_id", "kind"), COUNTING)

    id: int | None = key()
    project_id: int = reference("project.id")
    kind: str
    repository_url: str
    api_url: str
    repository: str
    token: str = _sealed()
    context_prefix: str = "perdure"
    verify_tls: bool = True
    active: bool = True
    created_at: datetime = moment(nullable=False)
    updated_at: datetime = moment(nullable=False)


class CommitReport(SQLModel, table=True):
    """What a forge is to know of a commit: the status of its newest pipeline. `state` is that of the report.

    `wanted` counts the changes of what is to be told, `told` is how far the forge has heard of them: nobody ever tells
    anything but the newest. `shown` is what the forge shows since. `link_id` refers to nothing by force, as in
    `HookDelivery`.
    """

    __tablename__ = "commit_report"
    __table_args__ = (
        UniqueConstraint("link_id", "sha"),
        Index("commit_report_of_pipeline", "pipeline_id"),
        Index("commit_report_due", "due_at", **only(_OPEN)),
        COUNTING,
    )

    id: int | None = key()
    link_id: int = number()
    sha: str
    pipeline_id: int = Field(foreign_key="pipeline.id", nullable=False, sa_type=BIG)
    status: str
    wanted: int = number()
    told: int = number()
    shown: str = ""
    state: str = "open"
    attempts: int = 0
    due_at: datetime = moment(nullable=False)
    response_status: int | None = None
    error: str = Field(default="", nullable=False, sa_type=Text)
    since: datetime = moment(nullable=False)
    updated_at: datetime = moment(nullable=False)
