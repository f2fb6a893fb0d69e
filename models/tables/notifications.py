"""Telling people: what they want to hear, integrations with chats, what happened, and messages on their way."""

from datetime import datetime
from typing import Any

from sqlalchemy import Index, Text, UniqueConstraint
from sqlmodel import Field, SQLModel

from models.columns import COUNTING, document, key, moment, number_or_none, only, reference, where_given


def _long_text() -> Any:
    return Field(default="", nullable=False, sa_type=Text)


class NotificationSetting(SQLModel, table=True):
    """How much somebody wants to hear of a project, of a group, or, with neither, of everything.

    `level` is a `domain.notifications.levels.Level`, `events` those that were chosen or left out by hand.
    """

    __tablename__ = "notification_setting"
    __table_args__ = (
        Index(
            "notification_setting_of_all",
            "account_id",
            unique=True,
            **only("project_id IS NULL AND namespace_id IS NULL"),
        ),
        Index(
            "notification_setting_of_project",
            "project_id",
            "account_id",
            unique=True,
            **only("project_id IS NOT NULL"),
        ),
        Index(
            "notification_setting_of_group",
            "namespace_id",
            "account_id",
            unique=True,
            **only("namespace_id IS NOT NULL"),
        ),
        COUNTING,
    )

    id: int | None = key()
    account_id: int = reference("account.id", index=True)
    project_id: int | None = reference("project.id", nullable=True)
    namespace_id: int | None = reference("namespace.id", nullable=True)
    level: str
    events: dict[str, bool] = document()
    updated_at: datetime = moment(nullable=False)


class ChatIntegration(SQLModel, table=True):
    """An integration of a project that is told what happens. `slug` is a `domain.notifications.integrations.Slug`.

    `wishes` are its settings but for `webhook`, the address of a chat, which is a secret and sealed.
    """

    __tablename__ = "chat_integration"
    __table_args__ = (UniqueConstraint("project_id", "slug"), COUNTING)

    id: int | None = key()
    project_id: int = reference("project.id")
    slug: str
    active: bool = True
    webhook: str = _long_text()
    wishes: dict[str, Any] = document()
    created_at: datetime = moment(nullable=False)
    updated_at: datetime = moment(nullable=False)


class RefHealth(SQLModel, table=True):
    """How the pipelines of a ref go: `health` is a `domain.notifications.ref_health.Health`, as of `pipeline_id`.

    It is kept while the project is told of anything; `pipeline_id` tells older pipelines from newer ones.
    """

    __tablename__ = "ref_health"

    project_id: int = reference("project.id", primary_key=True)
    ref: str = Field(primary_key=True)
    tag: bool = Field(primary_key=True)
    health: str
    pipeline_id: int | None = reference("pipeline.id", index=True, nullable=True)


class Notice(SQLModel, table=True):
    """Something happened that people may be told of; `kind` is a `domain.notifications.occasions.Occasion`.

    `facts` are what later changes would hide. While it is `open` nobody has looked yet whom to tell; `done` is one
    whose messages are written, `failed` one that could not be read. `user_id` did it, if anybody did.
    """

    __table_args__ = (
        Index("notice_due", "due_at", **only("state = 'open'")),
        Index("notice_by_age", "created_at"),
        *where_given("notice", "pipeline_id", "job_id", "merge_request_id"),
        COUNTING,
    )

    id: int | None = key()
    project_id: int = reference("project.id", index=True)
    kind: str
    user_id: int | None = reference("account.id", nullable=True)
    pipeline_id: int | None = reference("pipeline.id", nullable=True)
    job_id: int | None = reference("job.id", nullable=True)
    merge_request_id: int | None = reference("merge_request.id", nullable=True)
    facts: dict[str, Any] = document()
    state: str = "open"
    attempts: int = 0
    due_at: datetime = moment(nullable=False)
    error: str = _long_text()
    created_at: datetime = moment(nullable=False)


class Message(SQLModel, table=True):
    """A message of a notice on its way to one recipient: `state` is `open`, `delivered` or `failed`.

    `channel` is `email` or the slug of a chat; `recipient` tells it from all others of the notice and channel.
    Somebody with an account has `account_id`; an integration's messages have `integration_id`, which refers to nothing
    by force, those to an address of a list `address`, too. `uuid` becomes the Message-ID. `body` is what is sent, the
    same each time: zlib, base64, sealed. `single` is one that is tried once. `reply` and `error` are of the last of
    `tries`. `held_until`: somebody hands it over, and nobody else does before that; it is empty again as soon as what
    came of it is written, so one that has passed belongs to an attempt that was cut off.
    """

    __table_args__ = (
        UniqueConstraint("notice_id", "channel", "recipient"),
        Index("message_due", "due_at", **only("state = 'open'")),
        Index("message_of_integration", "integration_id", "id", **only("integration_id IS NOT NULL")),
        COUNTING,
    )

    id: int | None = key()
    notice_id: int = reference("notice.id")
    channel: str
    recipient: str
    account_id: int | None = reference("account.id", index=True, nullable=True)
    integration_id: int | None = number_or_none()
    address: str = ""
    uuid: str
    state: str = "open"
    single: bool = False
    attempts: int = 0
    due_at: datetime = moment(nullable=False)
    held_until: datetime | None = moment()
    body: str = _long_text()
    status: int | None = None
    reply: str = _long_text()
    error: str = _long_text()
    tries: list[dict[str, Any]] = document(list)
    created_at: datetime = moment(nullable=False)
    attempted_at: datetime | None = moment()
