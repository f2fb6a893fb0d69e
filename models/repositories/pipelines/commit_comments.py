"""Comments on commits."""

from datetime import datetime
from typing import Any

from sqlalchemy import Select, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from models.columns import Record, table_of
from models.tables.commit_comments import CommitComment

comment = table_of(CommitComment)


def of_commit(project_id: int, sha: str) -> Select[Any]:
    """Statement for the comments on a commit, the oldest first."""
    mine = (comment.c.project_id == project_id) & (comment.c.sha == sha)
    return select(comment).where(mine).order_by(comment.c.id)


async def add(connection: AsyncConnection, now: datetime, **values: Any) -> Record:
    """Write a comment; its row."""
    statement = insert(comment).values(created_at=now, **values).returning(comment)
    return (await connection.execute(statement)).one()
