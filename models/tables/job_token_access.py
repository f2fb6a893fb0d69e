"""Which projects let which others in by their job tokens."""

from datetime import datetime

from sqlalchemy import UniqueConstraint
from sqlmodel import SQLModel

from models.columns import COUNTING, key, moment, reference, reference_anywhere


class JobTokenAccess(SQLModel, table=True):
    """Jobs of `source_project_id`, or of all projects in `namespace_id`, may use `project_id` with their tokens.

    Either may be of another pod: then `full_path` is what it was called when it was listed. One that is removed becomes
    None here, and then the row lets nobody in.
    """

    __tablename__ = "job_token_access"
    __table_args__ = (
        UniqueConstraint("project_id", "source_project_id"),
        UniqueConstraint("project_id", "namespace_id"),
        COUNTING,
    )

    id: int | None = key()
    project_id: int = reference("project.id")
    source_project_id: int | None = reference_anywhere("project", index=True)
    namespace_id: int | None = reference_anywhere("namespace", index=True)
    full_path: str = ""
    created_at: datetime = moment(nullable=False)
