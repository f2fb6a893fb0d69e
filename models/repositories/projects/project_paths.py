"""Projects by paths whose case somebody did not mind; GitLab's paths do not differ by case."""

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from models.repositories.projects.projects import project


async def written_path(connection: AsyncConnection, path: str) -> str | None:
    """The full path of a project as it is written; the very path if there is one, else the oldest of its variants."""
    statement = (
        select(project.c.full_path)
        .where(func.lower(project.c.full_path) == path.lower())
        .order_by((project.c.full_path == path).desc(), project.c.id)
        .limit(1)
    )
    found: str | None = (await connection.execute(statement)).scalar()
    return found
