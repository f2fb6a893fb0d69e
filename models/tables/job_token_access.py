"""Which projects let which others in by their job tokens."""

from datetime import datetime

from sqlalchemy import UniqueConstraint
from sqlmodel import SQLModel

from models.columns import COUNTING, key, moment, reference


class JobTokenAccess(SQLModel, table=True):
    """Jobs of `source_project_id`, or of all projects in `namespace_id`, may use `project_id` with their tokens.

    A project that is removed becomes None here, and then the row lets nobody in.
    """

    __tablename__ = "job_token_access"
    __table_args__ = (
        UniqueConstraint("project_id", "source_project_id"),
        UniqueConstraint("project_id", "namespace_id"),
        COUNTING,
    )

    id: int | None = key()
    project_id: int = reference("project.id")
    source_project_id: int | None = reference("project.id", index=True, nullable=True)
    namespace_id: int | None = reference("namespace.id", index=True, nullable=True)
    created_at: datetime = moment(nullable=False)
