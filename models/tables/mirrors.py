"""Repositories that are kept like one elsewhere."""

from datetime import datetime

from sqlalchemy import Index, UniqueConstraint
from sqlmodel import SQLModel

from models.columns import COUNTING, key, moment, reference


class Mirror(SQLModel, table=True):
    """The project's repository follows the one at `url`, which holds no user and no password; `user_id` set it up.

    `credentials` are `user:password`, sealed; empty for none. It is pulled at `next_at`, every `interval` seconds.
    While a process pulls, it holds the row until `held_until`, again and again. `status` is GitLab's word (`none`,
    `scheduled`, `started`, `finished`, `failed`), `failures` counts those since the last success.
    """

    __table_args__ = (UniqueConstraint("project_id"), Index("mirror_by_turn", "next_at"), COUNTING)

    id: int | None = key()
    project_id: int = reference("project.id")
    user_id: int = reference("account.id")
    url: str
    credentials: str = ""
    enabled: bool = True
    trigger_builds: bool = True
    interval: int = 1800
    status: str = "none"
    last_error: str = ""
    failures: int = 0
    last_update_at: datetime | None = moment()
    last_update_started_at: datetime | None = moment()
    last_successful_update_at: datetime | None = moment()
    next_at: datetime | None = moment()
    held_until: datetime | None = moment()
    created_at: datetime = moment(nullable=False)
