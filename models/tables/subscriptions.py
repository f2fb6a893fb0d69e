"""Projects that follow the releases of others: subscriptions, and what is to be done for them."""

from datetime import datetime
from typing import Final

from sqlalchemy import Index, UniqueConstraint
from sqlmodel import SQLModel

from models.columns import COUNTING, key, moment, number_or_none, only, reference, reference_anywhere

_OPEN: Final = "done_at IS NULL"


class PipelineSubscription(SQLModel, table=True):
    """Project `project_id` gets a pipeline when one of a tag of `upstream_project_id` has succeeded; it is `user_id`'s.

    `upstream_project_id` becomes None when that project is removed from this pod. It may be one of another pod, which
    has called it `upstream_path` last, and was last told at `told_at` that this project follows it.
    """

    __tablename__ = "pipeline_subscription"
    __table_args__ = (
        UniqueConstraint("project_id", "upstream_project_id"),
        Index("ix_pipeline_subscription_upstream_project_id", "upstream_project_id"),
        COUNTING,
    )

    id: int | None = key()
    project_id: int = reference("project.id")
    upstream_project_id: int | None = reference_anywhere("project")
    user_id: int = reference("account.id")
    created_at: datetime = moment(nullable=False)
    upstream_path: str = ""
    told_at: datetime | None = moment()


class SubscribedRun(SQLModel, table=True):
    """The pipeline that a project gets for one of its upstream: noted in the transaction in which that succeeds.

    Each upstream pipeline counts once; it, and the project `upstream_project_id`, may be another pod's. `done_at` is
    when the pipeline was made, or found to be impossible, which `error` says then.
    """

    __tablename__ = "subscribed_run"
    __table_args__ = (
        UniqueConstraint("project_id", "upstream_id"),
        Index("ix_subscribed_run_upstream_id", "upstream_id"),
        Index("subscribed_run_open", "not_before", **only(_OPEN)),
        COUNTING,
    )

    id: int | None = key()
    project_id: int = reference("project.id")
    upstream_id: int | None = reference_anywhere("pipeline")
    user_id: int = reference("account.id")
    pipeline_id: int | None = reference("pipeline.id", index=True, nullable=True)
    error: str = ""
    attempts: int = 0
    created_at: datetime = moment(nullable=False)
    not_before: datetime = moment(nullable=False)
    done_at: datetime | None = moment()
    upstream_project_id: int | None = number_or_none()
