"""Comments on commits."""

from datetime import datetime
from typing import Any

from sqlalchemy import insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from models.columns import table_of
from models.repositories.paging import Listing
from models.rows.commit_comments import CommitCommentRow
from models.tables.commit_comments import CommitComment
from models.typed_rows import one_of

comment = table_of(CommitComment)


def of_commit(project_id: int, sha: str) -> Listing[CommitCommentRow]:
    """The comments on a commit, the oldest first."""
    mine = (comment.c.project_id == project_id) & (comment.c.sha == sha)
    return Listing(select(comment).where(mine).order_by(comment.c.id), CommitCommentRow, (comment.c.note,))


async def add(connection: AsyncConnection, now: datetime, **values: Any) -> CommitCommentRow:
    """Write a comment; its row."""
    statement = insert(comment).values(created_at=now, **values).returning(comment)
    return one_of(CommitCommentRow, await connection.execute(statement))
