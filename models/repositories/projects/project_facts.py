"""What other tables know of projects, read for a whole list at once."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from models.columns import table_of
from models.repositories.accounts import members, stars
from models.repositories.namespaces import shares
from models.repositories.namespaces.namespaces import namespace
from models.repositories.namespaces.shares import SharedGroup
from models.repositories.pipelines.job_rows import job
from models.repositories.projects import relations
from models.repositories.projects.listings import NamespaceFilter, namespaces
from models.repositories.projects.projects import REPORTER, Viewer, project, visible
from models.rows.accounts import UserRow
from models.rows.namespaces import NamespaceRow
from models.rows.projects import ProjectRow
from models.tables.artifacts import Artifact
from models.tables.logs import Trace
from models.typed_rows import all_of

artifact = table_of(Artifact)
trace = table_of(Trace)


@dataclass(frozen=True, slots=True)
class ProjectFacts:
    """Of one project: the group that it is in, whose that is, stars, forks, groups it is shared with, its origin."""

    namespace: NamespaceRow
    owner: UserRow | None = None
    stars: int = 0
    forks: int = 0
    shared: Sequence[SharedGroup] = ()
    origin: ProjectRow | None = None


async def facts_of(
    connection: AsyncConnection, rows: Collection[ProjectRow], viewer: Viewer
) -> Mapping[int, ProjectFacts]:
    """The facts of projects by id, as somebody may see them: neither groups nor origins that they may not know of."""
    ids = [row.id for row in rows]
    groups = await relations.namespaces(connection, (row.namespace_id for row in rows))
    people = await relations.users(connection, (group.owner_id for group in groups.values() if group.kind == "user"))
    seen = namespaces(NamespaceFilter(viewer)).statement.with_only_columns(namespace.c.id).order_by(None)
    shared = await shares.of_projects(connection, ids, seen)
    starred = await stars.counts(connection, ids)
    forks = await _forks(connection, ids)
    origins = await _origins(connection, [row.forked_from_id for row in rows if row.forked_from_id], viewer)
    return {
        row.id: ProjectFacts(
            namespace=groups[row.namespace_id],
            owner=_owner_of(groups[row.namespace_id], people),
            stars=starred.get(row.id, 0),
            forks=forks.get(row.id, 0),
            shared=shared.get(row.id, ()),
            origin=origins.get(row.forked_from_id),
        )
        for row in rows
    }


def _owner_of(group: NamespaceRow, people: Mapping[int, UserRow]) -> UserRow | None:
    return None if group.owner_id is None else people.get(group.owner_id)


async def _forks(connection: AsyncConnection, ids: Collection[int]) -> dict[int, int]:
    rule = project.c.forked_from_id.in_(ids) & project.c.removal_asked_at.is_(None)
    statement = select(project.c.forked_from_id, func.count()).where(rule).group_by(project.c.forked_from_id)
    return {row[0]: row[1] for row in (await connection.execute(statement)).all()}


async def _origins(connection: AsyncConnection, ids: Collection[int], viewer: Viewer) -> dict[int | None, ProjectRow]:
    if not ids:
        return {}
    statement = select(project).where(project.c.id.in_(ids), visible(viewer))
    return {row.id: row for row in all_of(ProjectRow, await connection.execute(statement))}


async def measured_by(connection: AsyncConnection, viewer: Viewer, ids: Collection[int]) -> frozenset[int]:
    """Those of these projects of which somebody may know how large they are: their members from reporters on."""
    if viewer.is_admin:
        return frozenset(ids)
    mine = members.project_ids(viewer.user_id, REPORTER)
    found = await connection.execute(select(project.c.id).where(project.c.id.in_(ids), project.c.id.in_(mine)))
    return frozenset(found.scalars())


async def artifact_sizes(connection: AsyncConnection, ids: Collection[int]) -> dict[int, int]:
    """Bytes of the artifacts and stored logs of projects, by project; those without any are left out."""
    there = artifact.c.project_id.in_(ids) & (artifact.c.object_key != "")
    files = select(artifact.c.project_id, func.sum(artifact.c.size)).where(there).group_by(artifact.c.project_id)
    logs = (
        select(job.c.project_id, func.sum(trace.c.size))
        .join(trace, trace.c.job_id == job.c.id)
        .where(job.c.project_id.in_(ids))
        .group_by(job.c.project_id)
    )
    sizes: dict[int, int] = {}
    for statement in (files, logs):
        for project_id, size in (await connection.execute(statement)).all():
            sizes[project_id] = sizes.get(project_id, 0) + int(size or 0)
    return sizes
