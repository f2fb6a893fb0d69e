"""Lists that people page through: projects, people, members, pipelines."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Select, func, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.bridges import CHILD
from domain.status import COMPLETE, Status
from models.columns import Record, table_of
from models.pipelines import Pipeline
from models.tables import Member, Project, User

project = table_of(Project)
pipeline = table_of(Pipeline)
member = table_of(Member)
user = table_of(User)

SCOPES: Final[Mapping[str, Collection[Status]]] = {
    "running": (Status.RUNNING,),
    "pending": (Status.PENDING,),
    "finished": COMPLETE,
}
"""GitLab's scopes of a list of pipelines that are sets of states."""


@dataclass(frozen=True, slots=True)
class ProjectFilter:
    """Which projects: those that `user_id` may see (all with `everything`), narrowed."""

    user_id: int
    everything: bool = False
    membership: bool = False
    visibility: str = ""
    search: str = ""
    organisation_id: int | None = None


def projects(wanted: ProjectFilter) -> Select[Any]:
    """Statement for projects, newest first."""
    statement = select(project).order_by(project.c.id.desc())
    mine = project.c.id.in_(select(member.c.project_id).where(member.c.user_id == wanted.user_id))
    if wanted.membership:
        statement = statement.where(mine)
    elif not wanted.everything:
        statement = statement.where(or_(project.c.visibility == "public", mine))
    if wanted.visibility:
        statement = statement.where(project.c.visibility == wanted.visibility)
    if wanted.organisation_id is not None:
        statement = statement.where(project.c.organisation_id == wanted.organisation_id)
    if wanted.search:
        statement = statement.where(func.lower(project.c.full_path).contains(wanted.search.lower(), autoescape=True))
    return statement


async def newest_pipelines(connection: AsyncConnection, project_ids: Iterable[int]) -> dict[int, Record]:
    """The newest pipeline of each project that has one, by project id; child pipelines do not count."""
    newest = select(func.max(pipeline.c.id)).where(pipeline.c.project_id.in_(list(project_ids)))
    newest = newest.where(pipeline.c.source != CHILD)
    statement = select(pipeline).where(pipeline.c.id.in_(newest.group_by(pipeline.c.project_id)))
    return {row.project_id: row for row in (await connection.execute(statement)).all()}


@dataclass(frozen=True, slots=True)
class PipelineFilter:
    """Which pipelines of a project; empty fields do not narrow."""

    equal: Mapping[str, str]
    scope: str = ""
    updated_after: datetime | None = None
    updated_before: datetime | None = None
    order_by: str = "id"
    ascending: bool = False


def pipelines(project_id: int, wanted: PipelineFilter) -> Select[Any]:
    """Statement for pipelines of a project; child pipelines only if their source is asked for, as in GitLab."""
    statement = select(pipeline).where(pipeline.c.project_id == project_id)
    if wanted.equal.get("source") != CHILD:
        statement = statement.where(pipeline.c.source != CHILD)
    for name, value in wanted.equal.items():
        statement = statement.where(pipeline.c[name] == value)
    if wanted.scope in SCOPES:
        statement = statement.where(pipeline.c.status.in_(SCOPES[wanted.scope]))
    elif wanted.scope in {"branches", "tags"}:
        statement = statement.where(pipeline.c.tag == (wanted.scope == "tags"))
    if wanted.updated_after is not None:
        statement = statement.where(pipeline.c.updated_at > wanted.updated_after)
    if wanted.updated_before is not None:
        statement = statement.where(pipeline.c.updated_at < wanted.updated_before)
    column = pipeline.c[wanted.order_by]
    ways = (column.asc(), pipeline.c.id.asc()) if wanted.ascending else (column.desc(), pipeline.c.id.desc())
    return statement.order_by(*ways)


def people(username: str = "", search: str = "") -> Select[Any]:
    """Statement for people, newest first."""
    statement = select(user).order_by(user.c.id.desc())
    if username:
        statement = statement.where(func.lower(user.c.username) == username.lower())
    if search:
        text = search.lower()
        statement = statement.where(
            or_(
                func.lower(user.c.username).contains(text, autoescape=True),
                func.lower(user.c.name).contains(text, autoescape=True),
            )
        )
    return statement


def members(project_id: int) -> Select[Any]:
    """Statement for the people of a project with their access levels, by id."""
    return (
        select(user, member.c.access_level)
        .join(member, member.c.user_id == user.c.id)
        .where(member.c.project_id == project_id)
        .order_by(user.c.id)
    )


async def has_level(connection: AsyncConnection, user_id: int, organisation_id: int, level: int) -> bool:
    """Whether a person has at least `level` in some project of an organisation."""
    statement = (
        select(member.c.project_id)
        .join(project, project.c.id == member.c.project_id)
        .where(member.c.user_id == user_id, member.c.access_level >= level)
        .where(project.c.organisation_id == organisation_id)
    )
    return (await connection.execute(statement.limit(1))).first() is not None
