"""What people wrote about commits."""

from datetime import datetime

from sqlalchemy import Index, Text
from sqlmodel import Field, SQLModel

from models.columns import COUNTING, key, moment, reference


class CommitComment(SQLModel, table=True):
    """A comment on a commit, or on a line of what it changed: `line_type` is `new` or `old`, empty without a `path`."""

    __tablename__ = "commit_comment"
    __table_args__ = (Index("commit_comment_of_commit", "project_id", "sha", "id"), COUNTING)

    id: int | None = key()
    project_id: int = reference("project.id")
    sha: str
    author_id: int = reference("account.id")
    note: str = Field(nullable=False, sa_type=Text)
    path: str = ""
    line: int | None = None
    line_type: str = ""
    created_at: datetime = moment(nullable=False)
