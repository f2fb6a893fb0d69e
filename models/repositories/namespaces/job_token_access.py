"""Who may use a project with job tokens: its own jobs always, those of others by its list."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import ColumnElement, delete, func, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.errors import Invalid, NotFound
from models.columns import table_of
from models.repositories.namespaces.group_ancestry import lies_in, namespace
from models.repositories.paging import Listing
from models.rows.namespaces import NamespaceRow
from models.rows.projects import ProjectRow
from models.tables.job_token_access import JobTokenAccess
from models.tables.projects import Project
from models.typed_rows import all_of

access = table_of(JobTokenAccess)
project = table_of(Project)

MAX_ENTRIES: Final = 200
"""Entries of one project; GitLab's limit."""


@dataclass(frozen=True, slots=True)
class SourceElsewhere:
    """A project or group of another pod whose jobs get in, and what it was called when it was listed."""

    id: int
    full_path: str


async def allows(
    connection: AsyncConnection, target: ProjectRow | None, from_project_id: int, groups: Sequence[int] = ()
) -> bool:
    """Whether a project (its row) lets in the jobs of another one. One that is not there lets nobody in, as slowly.

    `groups` are those around the other project, if that is in another pod.
    """
    if target is not None and target.id == from_project_id:
        return True
    within = (
        select(namespace.c.id)
        .join(project, project.c.namespace_id == namespace.c.id)
        .where(project.c.id == from_project_id, lies_in(access.c.namespace_id))
        .correlate(access)
        .exists()
    )
    known = (access.c.source_project_id == from_project_id) | within | access.c.namespace_id.in_(groups)
    target_id = 0 if target is None else target.id
    statement = select(access.c.id).where(access.c.project_id == target_id, known).limit(1)
    is_listed = (await connection.execute(statement)).first() is not None
    return target is not None and (is_listed or not target.job_tokens_limited)


def projects_of(project_id: int) -> Listing[ProjectRow]:
    """Statement for the projects that a project lets in: itself first, as in GitLab."""
    listed = select(access.c.source_project_id).where(access.c.project_id == project_id)
    own = project.c.id == project_id
    statement = select(project).where(own | project.c.id.in_(listed)).order_by(own.desc(), project.c.id)
    return Listing(statement, ProjectRow)


def groups_of(project_id: int) -> Listing[NamespaceRow]:
    """Statement for the groups whose projects a project lets in."""
    listed = select(access.c.namespace_id).where(access.c.project_id == project_id)
    return Listing(select(namespace).where(namespace.c.id.in_(listed)).order_by(namespace.c.id), NamespaceRow)


async def projects_elsewhere(connection: AsyncConnection, project_id: int) -> Sequence[SourceElsewhere]:
    """The projects of other pods that a project lets in, in the order of their ids."""
    return await _elsewhere(connection, project_id, access.c.source_project_id, project.c.id)


async def groups_elsewhere(connection: AsyncConnection, project_id: int) -> Sequence[SourceElsewhere]:
    """The groups of other pods the jobs of whose projects a project lets in, in the order of their ids."""
    return await _elsewhere(connection, project_id, access.c.namespace_id, namespace.c.id)


async def _elsewhere(
    connection: AsyncConnection, project_id: int, listed: ColumnElement[int], known: ColumnElement[int]
) -> Sequence[SourceElsewhere]:
    is_here = select(known).where(known == listed).correlate(access).exists()
    statement = select(listed.label("id"), access.c.full_path).where(access.c.project_id == project_id)
    statement = statement.where(listed.is_not(None), ~is_here).order_by(listed)
    return all_of(SourceElsewhere, await connection.execute(statement))


async def add(connection: AsyncConnection, project_id: int, now: datetime, full_path: str = "", **other: int) -> None:
    """Let another project (`source_project_id`), or those of a group (`namespace_id`), in. Raises `Invalid`.

    `full_path` is for what is in another pod.
    """
    (name, value), *_ = other.items()
    mine = access.c.project_id == project_id
    known = select(access.c.id).where(mine, access.c[name] == value)
    is_own = name == "source_project_id" and value == project_id
    if is_own or (await connection.execute(known)).first() is not None:
        what = "project" if name == "source_project_id" else "group"
        raise Invalid(f"Bad request - Target {what} is already in the job token scope")
    listed = access.c.source_project_id.is_not(None) | access.c.namespace_id.is_not(None)
    count = select(func.count()).select_from(access).where(mine, listed)
    if (await connection.execute(count)).scalar_one() >= MAX_ENTRIES:
        raise Invalid(f"Job token allowlist: at most {MAX_ENTRIES} projects and groups are taken; remove one first.")
    await connection.execute(insert(access).values(project_id=project_id, created_at=now, full_path=full_path, **other))


async def remove(connection: AsyncConnection, project_id: int, **other: int) -> None:
    """Let them in no more. Raises `NotFound`."""
    (name, value), *_ = other.items()
    done = await connection.execute(delete(access).where(access.c.project_id == project_id, access.c[name] == value))
    if not done.rowcount:
        what = "project" if name == "source_project_id" else "group"
        raise NotFound(f"Target {what} not in the job token scope")
