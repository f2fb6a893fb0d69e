"""Rows of the tables of `models.tables.commit_comments`."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class CommitCommentRow:
    """A row of `models.tables.commit_comments.CommitComment`, which says what its columns mean."""

    id: int
    project_id: int
    sha: str
    author_id: int
    note: str
    path: str
    line: int | None
    line_type: str
    created_at: datetime
