"""What people did to projects, as their events tell it."""

from datetime import datetime
from typing import Any

from sqlalchemy import Index
from sqlmodel import Field, SQLModel

from models.columns import BIG, COUNTING, document, key, moment, reference


class Contribution(SQLModel, table=True):
    """Something that somebody did to a project: `action` is one of `domain.projects.contributions.Action`.

    The target is what it is about: its kind, id, number and title at that time; empty for none. `push` is the
    `push_data` of a push. Rows are never changed.
    """

    __table_args__ = (
        Index("contribution_to_project", "project_id", "id"),
        Index("contribution_of_author", "author_id", "id"),
        Index("contribution_by_age", "created_at"),
        COUNTING,
    )

    id: int | None = key()
    project_id: int = reference("project.id")
    author_id: int = reference("account.id")
    action: str
    target_type: str = ""
    target_id: int | None = Field(default=None, nullable=True, sa_type=BIG)
    target_iid: int | None = None
    target_title: str = ""
    push: dict[str, Any] = document()
    created_at: datetime = moment(nullable=False)
