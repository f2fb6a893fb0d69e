"""What others say of commits: results of checks that run elsewhere."""

from datetime import datetime

from sqlalchemy import Index, text
from sqlmodel import Field, SQLModel

from models.columns import COUNTING, key, moment, reference

LATEST = text("NOT retried")
"""The rows that count; an insert that meets one must name the index by the same words."""


class CommitStatus(SQLModel, table=True):
    """A result that was reported for a commit. `status` is one of `domain.projects.commit_status.State`.

    There is one per commit, ref and name that counts; those before it, which had ended, are `retried`.
    """

    __tablename__ = "commit_status"
    __table_args__ = (
        Index(
            "commit_status_latest",
            "project_id",
            "sha",
            "ref",
            "name",
            unique=True,
            sqlite_where=LATEST,
            postgresql_where=LATEST,
        ),
        Index("commit_status_of_commit", "project_id", "sha"),
        COUNTING,
    )

    id: int | None = key()
    project_id: int = reference("project.id")
    user_id: int = reference("account.id")
    pipeline_id: int | None = reference("pipeline.id", index=True, nullable=True)
    sha: str
    ref: str
    name: str
    status: str
    target_url: str | None = None
    description: str | None = None
    coverage: float | None = None
    retried: bool = Field(default=False)
    created_at: datetime = moment(nullable=False)
    started_at: datetime | None = moment()
    finished_at: datetime | None = moment()
