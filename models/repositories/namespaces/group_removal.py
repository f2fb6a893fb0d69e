"""Removing a group with all groups and projects within it: marked first, gone when the last project is."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, exists, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.pods.claims import ClaimKind
from models.repositories.installation import name_claims
from models.repositories.namespaces import namespaces
from models.repositories.namespaces.namespaces import namespace, project, runner
from models.repositories.projects import project_removal
from models.repositories.runners import runners
from models.rows.namespaces import NamespaceRow
from models.typed_rows import all_of


def _within(row: NamespaceRow) -> ColumnElement[bool]:
    """A group and all within it."""
    return namespace.c.trail.startswith(row.trail, autoescape=True)


async def mark(connection: AsyncConnection, row: NamespaceRow, now: datetime) -> list[int]:
    """From now on nobody finds a group nor what is in it; the ids of the projects that go with it."""
    groups = select(namespace.c.id).where(_within(row))
    marked = await project_removal.mark(connection, project.c.namespace_id.in_(groups), now)
    rule = _within(row) & namespace.c.removal_asked_at.is_(None)
    await connection.execute(update(namespace).where(rule).values(removal_asked_at=now))
    return marked


async def marked(connection: AsyncConnection) -> Sequence[NamespaceRow]:
    """Groups that are being removed and hold no project any more, the innermost first."""
    has_projects = exists().where(project.c.namespace_id == namespace.c.id)
    statement = select(namespace).where(namespace.c.removal_asked_at.is_not(None), ~has_projects)
    return sorted(all_of(NamespaceRow, await connection.execute(statement)), key=lambda row: -len(row.trail))


async def remove_empty(connection: AsyncConnection) -> int:
    """Remove those with their runners; how many. One with a group within it that stays waits for that one."""
    count = 0
    for row in await marked(connection):
        inner = select(namespace.c.id).where(namespace.c.parent_id == row.id).limit(1)
        if (await connection.execute(inner)).first() is not None:
            continue
        of_group = or_(runner.c.namespace_id == row.id, runner.c.organisation_id == row.id)
        for runner_id in (await connection.execute(select(runner.c.id).where(of_group))).scalars().all():
            await runners.remove(connection, runner_id)
        await namespaces.remove(connection, row)
        if row.parent_id is None and row.kind != "user":
            await name_claims.drop_name(connection, ClaimKind.PATH, row.full_path.lower())
        count += 1
    return count
