"""Labels and milestones of projects and groups."""

from datetime import date, datetime

from sqlalchemy import Text, UniqueConstraint
from sqlmodel import Field, SQLModel

from models.columns import COUNTING, key, moment, reference


class Label(SQLModel, table=True):
    """A label of a project or of a group and all within it; merge requests hold its name. `color` is `#rrggbb`."""

    __table_args__ = (UniqueConstraint("project_id", "name"), UniqueConstraint("namespace_id", "name"), COUNTING)

    id: int | None = key()
    project_id: int | None = reference("project.id", index=True, nullable=True)
    namespace_id: int | None = reference("namespace.id", index=True, nullable=True)
    name: str
    color: str
    description: str = Field(default="", nullable=False, sa_type=Text)
    priority: int | None = None
    created_at: datetime = moment(nullable=False)
    updated_at: datetime = moment(nullable=False)


class Milestone(SQLModel, table=True):
    """What merge requests are planned for, in a project or in a group; `iid` counts there. `state`: active, closed."""

    __table_args__ = (UniqueConstraint("project_id", "iid"), UniqueConstraint("namespace_id", "iid"), COUNTING)

    id: int | None = key()
    iid: int
    project_id: int | None = reference("project.id", index=True, nullable=True)
    namespace_id: int | None = reference("namespace.id", index=True, nullable=True)
    title: str
    description: str = Field(default="", nullable=False, sa_type=Text)
    state: str = "active"
    start_date: date | None = Field(default=None, nullable=True)
    due_date: date | None = Field(default=None, nullable=True)
    created_at: datetime = moment(nullable=False)
    updated_at: datetime = moment(nullable=False)
