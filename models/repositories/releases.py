"""Releases: one for each tag of a project."""

from datetime import datetime
from typing import Any, Final

from sqlalchemy import Select, delete, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.errors import NotFound
from models.columns import Record, table_of
from models.environments import Release
from models.repositories.job_rows import job

release = table_of(Release)

_ADD: Final = {
    "postgresql": postgresql.insert(release).on_conflict_do_nothing(index_elements=["project_id", "tag"]),
    "sqlite": sqlite.insert(release).on_conflict_do_nothing(index_elements=["project_id", "tag"]),
}


async def add(connection: AsyncConnection, now: datetime, **values: Any) -> bool:
    """Write a release; false, and nothing is written, when the tag has one already."""
    row = {"job_id": None, **values, "created_at": now}
    return bool((await connection.execute(_ADD[connection.dialect.name], row)).rowcount)


async def find(connection: AsyncConnection, project_id: int, tag: str) -> Record | None:
    """The release of a tag, or None."""
    statement = select(release).where(release.c.project_id == project_id, release.c.tag == tag)
    return (await connection.execute(statement)).first()


async def get(connection: AsyncConnection, project_id: int, tag: str) -> Record:
    """The release of a tag. Raises `NotFound`."""
    row = await find(connection, project_id, tag)
    if row is None:
        raise NotFound("404 Not Found")
    return row


async def is_of_job(connection: AsyncConnection, row: Record, job_id: int) -> bool:
    """Whether an attempt of the same job made this release."""
    if row.job_id is None:
        return False
    firsts = select(job.c.first_id).where(job.c.id.in_({row.job_id, job_id})).distinct()
    return len((await connection.execute(firsts)).all()) == 1


def of_project(project_id: int, *, order_by: str = "released_at", ascending: bool = False) -> Select[Any]:
    """Statement for the releases of a project; `order_by` is `released_at` or `created_at`."""
    column = release.c[order_by]
    ways = (column.asc(), release.c.id.asc()) if ascending else (column.desc(), release.c.id.desc())
    return select(release).where(release.c.project_id == project_id).order_by(*ways)


async def latest(connection: AsyncConnection, project_id: int, now: datetime) -> Record:
    """The release that was released last by now. Raises `NotFound`."""
    row = (await connection.execute(of_project(project_id).where(release.c.released_at <= now).limit(1))).first()
    if row is None:
        raise NotFound("404 Not Found")
    return row


async def remove(connection: AsyncConnection, release_id: int) -> None:
    """Forget a release; its tag stays."""
    await connection.execute(delete(release).where(release.c.id == release_id))
