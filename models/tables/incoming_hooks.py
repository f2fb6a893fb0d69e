"""Webhooks that forges call: whose they are, and what came."""

from datetime import datetime
from typing import Any, Final

from sqlalchemy import Index, UniqueConstraint
from sqlmodel import Field, SQLModel

from models.columns import COUNTING, document, key, moment, only, reference

_OPEN: Final = "done_at IS NULL"


class IncomingHook(SQLModel, table=True):
    """A hook that a forge (`domain.hooks.incoming.Forge`) calls for a project; what it starts is `user_id`'s.

    `secret` is sealed; with it each call is verified.
    """

    __tablename__ = "incoming_hook"
    __table_args__ = (COUNTING,)

    id: int | None = key()
    project_id: int = reference("project.id", index=True)
    user_id: int = reference("account.id")
    forge: str
    description: str = ""
    secret: str
    created_at: datetime = moment(nullable=False)
    rotated_at: datetime | None = moment()
    last_delivery_at: datetime | None = moment()


class IncomingDelivery(SQLModel, table=True):
    """A verified call of a hook; one that comes again, by its `delivery_id`, does nothing.

    `request` is the pull request that wants a pipeline, empty for a push, which is done at once. As the id is not
    signed, `body_digest` keeps a call for a pull request from being played again under another one.
    """

    __tablename__ = "incoming_delivery"
    __table_args__ = (
        UniqueConstraint("hook_id", "delivery_id"),
        UniqueConstraint("hook_id", "body_digest"),
        Index("incoming_delivery_open", "not_before", **only(_OPEN)),
        COUNTING,
    )

    id: int | None = key()
    hook_id: int = reference("incoming_hook.id")
    delivery_id: str
    body_digest: str | None = Field(default=None, nullable=True)
    event: str
    request: dict[str, Any] = document()
    pipeline_id: int | None = reference("pipeline.id", index=True, nullable=True)
    error: str = ""
    attempts: int = 0
    created_at: datetime = moment(nullable=False)
    not_before: datetime = moment(nullable=False)
    done_at: datetime | None = moment()
