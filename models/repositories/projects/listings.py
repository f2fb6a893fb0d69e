"""Lists that people page through: projects, groups, pipelines."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, Select, and_, func, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.pipelines.bridges import CHILD
from domain.pipelines.status import COMPLETE, Status
from models.columns import table_of
from models.repositories.accounts import members, stars
from models.repositories.namespaces import shares
from models.repositories.namespaces.namespaces import namespace, within
from models.repositories.paging import Listing, first_of
from models.repositories.pipelines.warnings import PIPELINE
from models.repositories.projects.projects import REPORTER, Viewer, project, visible
from models.rows.namespaces import NamespaceRow
from models.rows.pipelines import PipelineRow
from models.rows.projects import ProjectRow
from models.tables.pipelines import Pipeline
from models.typed_rows import all_of

pipeline = table_of(Pipeline)

SCOPES: Final[Mapping[str, Collection[Status]]] = {
    "running": (Status.RUNNING,),
    "pending": (Status.PENDING,),
    "finished": COMPLETE,
}
"""GitLab's scopes of a list of pipelines that are sets of states."""


@dataclass(frozen=True, slots=True)
class ProjectFilter:
    """Which projects: those that somebody may see, narrowed.

    `within` is the trail of a group: what is in it or in a group within it; `namespace_id` only what is in it itself.
    `readable`: only those whose code and pipelines they may see, too, which guests of private ones may not.
    """

    viewer: Viewer
    membership: bool = False
    visibility: str = ""
    search: str = ""
    within: str = ""
    namespace_id: int | None = None
    least_level: int = 0
    archived: bool | None = None
    starred_by: int | None = None
    owned_by: int | None = None
    forked_from: int | None = None
    shared_with: int | None = None
    """With what is in the group of `within` also what is shared with this one."""
    readable: bool = False


def projects(wanted: ProjectFilter) -> Listing[ProjectRow]:
    """Statement for projects, newest first."""
    return Listing(_projects(wanted), ProjectRow)


def _projects(wanted: ProjectFilter) -> Select[Any]:
    statement = select(project).order_by(project.c.id.desc())
    if wanted.membership or wanted.least_level:
        mine = members.project_ids(wanted.viewer.user_id, wanted.least_level or 1)
        statement = statement.where(project.c.id.in_(mine), project.c.removal_asked_at.is_(None))
    else:
        statement = statement.where(visible(wanted.viewer))
    if wanted.readable:
        statement = statement.where(visible(wanted.viewer, REPORTER))
    if wanted.archived is not None:
        statement = statement.where(project.c.archived == wanted.archived)
    if wanted.visibility:
        statement = statement.where(project.c.visibility == wanted.visibility)
    if wanted.within or wanted.namespace_id is not None:
        statement = statement.where(_is_in(wanted))
    if wanted.owned_by is not None:
        own = select(namespace.c.id).where(namespace.c.kind == "user", namespace.c.owner_id == wanted.owned_by)
        statement = statement.where(project.c.namespace_id.in_(own))
    if wanted.starred_by is not None:
        statement = statement.where(project.c.id.in_(stars.projects_of(wanted.starred_by)))
    if wanted.forked_from is not None:
        statement = statement.where(project.c.forked_from_id == wanted.forked_from)
    if wanted.search:
        statement = statement.where(func.lower(project.c.full_path).contains(wanted.search.lower(), autoescape=True))
    return statement


def readable(viewer: Viewer, within: str = "") -> Listing[ProjectRow]:
    """Statement for projects whose code somebody may read, the oldest first; `within` is the trail of a group.

    To guests of private ones neither their merge requests nor their commits are there.
    """
    return Listing(_readable(viewer, within).order_by(project.c.id), ProjectRow)


def _readable(viewer: Viewer, within: str) -> Select[Any]:
    return _projects(ProjectFilter(viewer, within=within, readable=True)).order_by(None)


def readable_ids(viewer: Viewer, within: str = "") -> Select[tuple[int]]:
    """Statement for the ids of the same projects."""
    return _readable(viewer, within).with_only_columns(project.c.id)


def _is_in(wanted: ProjectFilter) -> ColumnElement[bool]:
    rules: list[ColumnElement[bool]] = []
    if wanted.within:
        groups = select(namespace.c.id).where(namespace.c.trail.startswith(wanted.within, autoescape=True))
        rules.append(project.c.namespace_id.in_(groups))
    if wanted.namespace_id is not None:
        rules.append(project.c.namespace_id == wanted.namespace_id)
    if wanted.shared_with is None:
        return and_(*rules)
    return or_(and_(*rules), project.c.id.in_(shares.projects_of(wanted.shared_with)))


@dataclass(frozen=True, slots=True)
class NamespaceFilter:
    """Which groups: those that somebody may see, narrowed; with `least_level` those they are a member of.

    A group is seen by whoever is a member of a project in it, as in GitLab.
    """

    viewer: Viewer
    search: str = ""
    top_only: bool = False
    least_level: int = 0
    creation_levels: Mapping[str, int] | None = None
    """By who may make projects in a group, the level that it asks of members: only groups that let the viewer."""
    kind: str = ""
    within: NamespaceRow | None = None
    directly_within: bool = True


def namespaces(wanted: NamespaceFilter) -> Listing[NamespaceRow]:
    """Statement for groups and people's own namespaces, by path."""
    statement = select(namespace).order_by(namespace.c.full_path, namespace.c.id)
    if wanted.within is not None:
        statement = within(wanted.within, directly=wanted.directly_within)
    statement = statement.where(namespace.c.removal_asked_at.is_(None))
    if wanted.least_level:
        statement = statement.where(
            namespace.c.id.in_(members.namespace_ids(wanted.viewer.user_id, wanted.least_level))
        )
    elif wanted.creation_levels:
        statement = statement.where(_lets_make_projects(wanted.viewer.user_id, wanted.creation_levels))
    elif not wanted.viewer.is_admin:
        user_id = wanted.viewer.user_id
        mine = namespace.c.id.in_(members.namespace_ids(user_id))
        of_mine = select(project.c.namespace_id).where(project.c.id.in_(members.project_ids(user_id)))
        is_open = namespace.c.visibility.in_(wanted.viewer.open_to)
        statement = statement.where(or_(is_open, mine, namespace.c.id.in_(of_mine)))
    if wanted.kind:
        statement = statement.where(namespace.c.kind == wanted.kind)
    if wanted.top_only:
        statement = statement.where(namespace.c.parent_id.is_(None))
    if wanted.search:
        text = wanted.search.lower()
        statement = statement.where(func.lower(namespace.c.full_path).contains(text, autoescape=True))
    return Listing(statement, NamespaceRow)


def _lets_make_projects(user_id: int, levels: Mapping[str, int]) -> ColumnElement[bool]:
    return or_(
        *(
            and_(namespace.c.project_creation_level == name, namespace.c.id.in_(members.namespace_ids(user_id, level)))
            for name, level in levels.items()
        )
    )


async def newest_pipelines(connection: AsyncConnection, project_ids: Iterable[int]) -> dict[int, PipelineRow]:
    """The newest pipeline of each project that has one, by project id; child pipelines do not count."""
    newest = select(func.max(pipeline.c.id)).where(pipeline.c.project_id.in_(list(project_ids)))
    newest = newest.where(pipeline.c.source != CHILD)
    statement = select(*PIPELINE).where(pipeline.c.id.in_(newest.group_by(pipeline.c.project_id)))
    return {row.project_id: row for row in all_of(PipelineRow, await connection.execute(statement))}


@dataclass(frozen=True, slots=True)
class PipelineFilter:
    """Which pipelines of a project; empty fields do not narrow."""

    equal: Mapping[str, str]
    scope: str = ""
    updated_after: datetime | None = None
    updated_before: datetime | None = None
    order_by: str = "id"
    ascending: bool = False


def pipelines(project_id: int, wanted: PipelineFilter) -> Listing[PipelineRow]:
    """Statement for pipelines of a project; child pipelines only if their source is asked for, as in GitLab."""
    statement = select(*PIPELINE).where(pipeline.c.project_id == project_id)
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
    return Listing(statement.order_by(*ways), PipelineRow)


async def latest_pipeline(
    connection: AsyncConnection, project_id: int, wanted: PipelineFilter, without: Collection[Status] = ()
) -> PipelineRow | None:
    """The newest of these pipelines of a project that has none of the states `without`, or None."""
    listing = pipelines(project_id, wanted)
    if without:
        listing = Listing(listing.statement.where(pipeline.c.status.not_in(list(without))), PipelineRow)
    return await first_of(connection, listing)
