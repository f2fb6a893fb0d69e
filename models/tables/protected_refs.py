"""Protected branches and tags of projects."""

from datetime import datetime

from sqlalchemy import UniqueConstraint
from sqlmodel import SQLModel

from models.columns import COUNTING, key, moment, reference


class ProtectedBranch(SQLModel, table=True):
    """A branch, or all that fit a name with `*`, and the lowest access level that may push to it and merge into it.

    Level 0 is nobody.
    """

    __tablename__ = "protected_branch"
    __table_args__ = (UniqueConstraint("project_id", "name"), COUNTING)

    id: int | None = key()
    project_id: int = reference("project.id")
    name: str
    push_level: int
    merge_level: int
    allow_force_push: bool = False
    created_at: datetime = moment(nullable=False)


class ProtectedTag(SQLModel, table=True):
    """A tag, or all that fit a name with `*`, and the lowest access level that may create it. Level 0 is nobody."""

    __tablename__ = "protected_tag"
    __table_args__ = (UniqueConstraint("project_id", "name"), COUNTING)

    id: int | None = key()
    project_id: int = reference("project.id")
    name: str
    create_level: int
    created_at: datetime = moment(nullable=False)
