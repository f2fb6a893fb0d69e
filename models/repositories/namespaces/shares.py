"""Projects that are shared with groups: a group's members are members of the project, up to a level."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from sqlalchemy import ColumnElement, Select, String, cast, delete, func, insert, literal, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.errors import Refused
from models.columns import table_of
from models.repositories.namespaces.namespaces import namespace
from models.repositories.paging import Listing
from models.rows.namespaces import NamespaceRow
from models.rows.projects import ProjectRow
from models.rows.sharing import ProjectShareRow
from models.tables.sharing import ProjectShare
from models.typed_rows import all_of, one_of

share = table_of(ProjectShare)


def lasting() -> ColumnElement[bool]:
    """Whether a share has not expired, by the database's day (UTC)."""
    return or_(share.c.expires_on.is_(None), share.c.expires_on > func.current_date())


async def add(
    connection: AsyncConnection, project_id: int, namespace_id: int, level: int, now: datetime, ends: date | None
) -> ProjectShareRow:
    """Share a project with a group. Raises `Refused` where it is."""
    rule = (share.c.project_id == project_id) & (share.c.namespace_id == namespace_id)
    if (await connection.execute(select(share.c.id).where(rule))).first() is not None:
        raise Refused("Group already shared with this group")
    values = {"project_id": project_id, "namespace_id": namespace_id, "access_level": level, "expires_on": ends}
    statement = insert(share).values(**values, created_at=now)
    made = (await connection.execute(statement.returning(share.c.id))).scalar_one()
    return one_of(ProjectShareRow, await connection.execute(select(share).where(share.c.id == made)))


async def remove(connection: AsyncConnection, project_id: int, namespace_id: int) -> bool:
    """End a share; false if there is none."""
    rule = (share.c.project_id == project_id) & (share.c.namespace_id == namespace_id)
    return bool((await connection.execute(delete(share).where(rule))).rowcount)


@dataclass(frozen=True, slots=True)
class SharedGroup:
    """A group that a project is shared with, and how."""

    project_id: int
    access_level: int
    expires_on: date | None
    id: int
    name: str
    full_path: str


async def of_projects(
    connection: AsyncConnection, project_ids: Collection[int], seen: Select[tuple[int]]
) -> Mapping[int, Sequence[SharedGroup]]:
    """The groups that projects are shared with, by project; only those whose ids `seen` gives."""
    found: defaultdict[int, list[SharedGroup]] = defaultdict(list)
    columns = (share.c.project_id, share.c.access_level, share.c.expires_on)
    statement = (
        select(*columns, namespace.c.id, namespace.c.name, namespace.c.full_path)
        .join(namespace, namespace.c.id == share.c.namespace_id)
        .where(share.c.project_id.in_(project_ids), namespace.c.id.in_(seen), lasting())
    )
    for row in all_of(SharedGroup, await connection.execute(statement.order_by(share.c.id))):
        found[row.project_id].append(row)
    return found


def projects_of(namespace_id: int) -> Select[tuple[int]]:
    """Statement for the ids of the projects that are shared with a group."""
    return select(share.c.project_id).where(share.c.namespace_id == namespace_id, lasting())


def groups_of(
    groups: Listing[NamespaceRow], row: ProjectRow, least_shared: int | None, *, without: Collection[int] = ()
) -> Listing[NamespaceRow]:
    """A statement for groups, narrowed to those that a project lies in, or is shared with at such a level.

    None leaves out those that it is shared with.
    """
    home = namespace.alias("home")
    trail = select(home.c.trail).where(home.c.id == row.namespace_id).scalar_subquery()
    rule: ColumnElement[bool] = trail.like(literal("%/") + cast(namespace.c.id, String) + literal("/%"))
    if least_shared is not None:
        mine = select(share.c.namespace_id).where(
            share.c.project_id == row.id, share.c.access_level >= least_shared, lasting()
        )
        rule = or_(rule, namespace.c.id.in_(mine))
    return Listing(groups.statement.where(rule, namespace.c.id.not_in(list(without))), groups.kind)
