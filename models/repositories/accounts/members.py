"""Who has which access level where. A level in a group counts in all that is within it; the highest counts.

In a project that is shared with a group its members have their level there, or that of the share if it is lower.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    FromClause,
    Select,
    String,
    Table,
    bindparam,
    case,
    cast,
    delete,
    func,
    insert,
    literal,
    or_,
    select,
    union_all,
    update,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from models.columns import table_of
from models.repositories.namespaces.namespaces import namespace, namespace_member, trail_of
from models.repositories.paging import Listing
from models.rows.accounts import UserRow
from models.rows.namespaces import NamespaceRow
from models.rows.projects import ProjectRow
from models.tables.accounts import User
from models.tables.projects import Member, Project
from models.tables.sharing import ProjectShare
from models.typed_rows import Typed, first_of

member = table_of(Member)
share = table_of(ProjectShare)
project = table_of(Project)
user = table_of(User)


def _lasting(table: Table) -> ColumnElement[bool]:
    """Whether a membership has not expired, by the database's day (UTC)."""
    return or_(table.c.expires_on.is_(None), table.c.expires_on > func.current_date())


def _holds(above: FromClause) -> ColumnElement[bool]:
    """Whether the group of a membership is on the way from the top down to `above`."""
    return above.c.trail.like(literal("%/") + cast(namespace_member.c.namespace_id, String) + literal("/%"))


_CAPPED: Final = case(
    (namespace_member.c.access_level < share.c.access_level, namespace_member.c.access_level),
    else_=share.c.access_level,
)
"""The level that a member of a group has in a project that is shared with it."""


def _by_share(*columns: Any) -> Select[Any]:
    """Statement for what members of groups have of the projects that are shared with those."""
    return (
        select(*columns)
        .select_from(share.join(namespace, namespace.c.id == share.c.namespace_id))
        .join(namespace_member, _holds(namespace))
        .where(_lasting(share), _lasting(namespace_member))
    )


def _in_project() -> Select[Any]:
    """Statement for the highest level of `b_user` in `b_project`."""
    asked: BindParameter[int] = bindparam("b_project")
    person: BindParameter[int] = bindparam("b_user")
    direct = select(member.c.access_level.label("level")).where(
        member.c.project_id == asked, member.c.user_id == person, _lasting(member)
    )
    inherited = (
        select(namespace_member.c.access_level.label("level"))
        .select_from(project.join(namespace, namespace.c.id == project.c.namespace_id))
        .join(namespace_member, _holds(namespace))
        .where(project.c.id == asked, namespace_member.c.user_id == person, _lasting(namespace_member))
    )
    shared = _by_share(_CAPPED.label("level")).where(share.c.project_id == asked, namespace_member.c.user_id == person)
    every = union_all(direct, inherited, shared).subquery()
    return select(func.max(every.c.level))


_IN_PROJECT: Final = _in_project()
"""Made once: every request for a project asks it."""


async def level_in_project(connection: AsyncConnection, project_id: int, user_id: int) -> int:
    """The access level that membership gives in a project, its own or that of a group above; 0 for strangers."""
    if not user_id:
        return 0
    found = await connection.execute(_IN_PROJECT, {"b_project": project_id, "b_user": user_id})
    return found.scalar() or 0


async def level_in_group(connection: AsyncConnection, namespace_id: int, user_id: int) -> int:
    """The access level that membership gives in a group; 0 for strangers."""
    if not user_id:
        return 0
    statement = (
        select(func.max(namespace_member.c.access_level))
        .select_from(namespace.join(namespace_member, _holds(namespace)))
        .where(namespace.c.id == namespace_id, namespace_member.c.user_id == user_id, _lasting(namespace_member))
    )
    return (await connection.execute(statement)).scalar() or 0


async def own_groups(connection: AsyncConnection, user_id: int, among: Collection[int | None]) -> frozenset[int]:
    """Those of these groups that a person is a member of themselves, not by a group above them."""
    if not among or not user_id:
        return frozenset()
    mine = (namespace_member.c.user_id == user_id) & namespace_member.c.namespace_id.in_(list(among))
    statement = select(namespace_member.c.namespace_id).where(mine, _lasting(namespace_member))
    return frozenset((await connection.execute(statement)).scalars())


def project_ids(user_id: int, level: int = 1) -> Select[tuple[int]]:
    """Statement for the ids of the projects in which a person has at least `level`."""
    direct = select(member.c.project_id.label("id")).where(
        member.c.user_id == user_id, member.c.access_level >= level, _lasting(member)
    )
    inherited = select(project.c.id.label("id")).where(project.c.namespace_id.in_(namespace_ids(user_id, level)))
    shared = _by_share(share.c.project_id.label("id")).where(namespace_member.c.user_id == user_id, level <= _CAPPED)
    every = union_all(direct, inherited, shared).subquery()
    return select(every.c.id)


async def projects_with(connection: AsyncConnection, user_id: int, level: int) -> frozenset[int]:
    """The ids of the projects in which a person has at least `level`."""
    return frozenset(row.id for row in await connection.execute(project_ids(user_id, level)))


def namespace_ids(user_id: int, level: int = 1) -> Select[tuple[int]]:
    """Statement for the ids of the groups in which a person has at least `level`."""
    return (
        select(namespace.c.id)
        .join(namespace_member, _holds(namespace))
        .where(
            namespace_member.c.user_id == user_id, namespace_member.c.access_level >= level, _lasting(namespace_member)
        )
    )


async def levels_in(connection: AsyncConnection, projects: Select[tuple[int]], user_id: int) -> tuple[int, int]:
    """The lowest and the highest level of a person in the projects whose ids a statement gives; 0 for a stranger."""
    direct = (
        select(func.max(member.c.access_level))
        .where(member.c.project_id == project.c.id, member.c.user_id == user_id, _lasting(member))
        .scalar_subquery()
    )
    inherited = (
        select(func.max(namespace_member.c.access_level))
        .where(_holds(namespace), namespace_member.c.user_id == user_id, _lasting(namespace_member))
        .scalar_subquery()
    )
    above = namespace.alias("above")
    shared = (
        select(func.max(_CAPPED))
        .select_from(share.join(above, above.c.id == share.c.namespace_id))
        .join(namespace_member, _holds(above))
        .where(share.c.project_id == project.c.id, _lasting(share))
        .where(namespace_member.c.user_id == user_id, _lasting(namespace_member))
        .scalar_subquery()
    )
    own, group, other = (func.coalesce(found, 0) for found in (direct, inherited, shared))
    level = case(((own >= group) & (own >= other), own), (group >= other, group), else_=other)
    statement = select(func.min(level), func.max(level)).select_from(
        project.join(namespace, namespace.c.id == project.c.namespace_id)
    )
    lowest, highest = (await connection.execute(statement.where(project.c.id.in_(projects)))).one()
    return lowest or 0, highest or 0


@dataclass(frozen=True, slots=True)
class ListedMember(UserRow):
    """A person with what they are somewhere; `since` is unknown of old memberships of projects."""

    access_level: int
    expires_on: date | None
    since: datetime | None


@dataclass(frozen=True, slots=True)
class ListedMembership:
    """What a person is in a `Project` or in a `Namespace`, the two words that `source_type` may be."""

    source_id: int
    source_name: str
    access_level: int
    source_type: str


def of_project(project_id: int) -> Listing[ListedMember]:
    """Statement for the people of a project itself, by id."""
    return _listed(member, member.c.project_id == project_id)


def of_group(namespace_id: int) -> Listing[ListedMember]:
    """The same for a group itself."""
    return _listed(namespace_member, namespace_member.c.namespace_id == namespace_id)


def _listed(table: Table, rule: ColumnElement[bool]) -> Listing[ListedMember]:
    columns = (table.c.access_level, table.c.expires_on, table.c.created_at.label("since"))
    statement = select(user, *columns).join(table, table.c.user_id == user.c.id)
    return Listing(statement.where(rule).order_by(user.c.id), ListedMember)


def all_of_project(row: ProjectRow) -> Listing[ListedMember]:
    """Statement for the people of a project and of the groups above it, each once with the highest level, by id."""
    trail = select(namespace.c.trail).where(namespace.c.id == row.namespace_id).scalar_subquery()
    on_the_way = trail.like(literal("%/") + cast(namespace_member.c.namespace_id, String) + literal("/%"))
    columns = (namespace_member.c.user_id, _CAPPED.label("access_level"), share.c.expires_on, share.c.created_at)
    shared = _by_share(*columns).where(share.c.project_id == row.id)
    return _highest(_levels(member, member.c.project_id == row.id), _levels(namespace_member, on_the_way), shared)


def all_of_group(row: NamespaceRow) -> Listing[ListedMember]:
    """The same for a group."""
    return _highest(_levels(namespace_member, namespace_member.c.namespace_id.in_(trail_of(row.trail))))


def _levels(table: Table, rule: ColumnElement[bool]) -> Select[Any]:
    columns = (table.c.user_id, table.c.access_level, table.c.expires_on, table.c.created_at)
    return select(*columns).where(rule, _lasting(table))


def _highest(*parts: Select[Any]) -> Listing[ListedMember]:
    every = union_all(*parts).subquery()
    level = func.max(every.c.access_level).label("access_level")
    columns = (func.max(every.c.expires_on).label("expires_on"), func.min(every.c.created_at).label("since"))
    best = select(every.c.user_id, level, *columns).group_by(every.c.user_id).subquery()
    statement = select(user, best.c.access_level, best.c.expires_on, best.c.since)
    return Listing(statement.join(best, best.c.user_id == user.c.id).order_by(user.c.id), ListedMember)


def of_person(user_id: int, kind: str = "") -> Listing[ListedMembership]:
    """Statement for a person's own memberships, or those of one `source_type`."""

    def part(source: Table, table: Table, reference: str, name: str) -> Select[Any]:
        columns = (source.c.id.label("source_id"), source.c.name.label("source_name"), table.c.access_level)
        joined = table.join(source, source.c.id == table.c[reference])
        mine = select(*columns, literal(name).label("source_type")).select_from(joined)
        return mine.where(table.c.user_id == user_id, _lasting(table), source.c.removal_asked_at.is_(None))

    kinds = {
        "Project": part(project, member, "project_id", "Project"),
        "Namespace": part(namespace, namespace_member, "namespace_id", "Namespace"),
    }
    every = union_all(*([kinds[kind]] if kind else kinds.values())).subquery()
    return Listing(select(every).order_by(every.c.source_type, every.c.source_id), ListedMembership)


async def add_to_project(
    connection: AsyncConnection, project_id: int, user_id: int, level: int, expires_on: date | None = None
) -> None:
    """Give a person an access level in a project."""
    values = {"user_id": user_id, "access_level": level, "expires_on": expires_on}
    await connection.execute(
        insert(member).values(project_id=project_id, created_at=func.current_timestamp(), **values)
    )


async def add_to_group(
    connection: AsyncConnection, namespace_id: int, user_id: int, level: int, expires_on: date | None = None
) -> None:
    """Give a person an access level in a group."""
    values = {"user_id": user_id, "access_level": level, "expires_on": expires_on}
    await connection.execute(
        insert(namespace_member).values(namespace_id=namespace_id, created_at=func.current_timestamp(), **values)
    )


async def change_in_project(connection: AsyncConnection, project_id: int, user_id: int, **values: Any) -> bool:
    """Write columns of a membership of a project; false if there is none."""
    rule = (member.c.project_id == project_id) & (member.c.user_id == user_id)
    return bool((await connection.execute(update(member).where(rule).values(**values))).rowcount)


async def change_in_group(connection: AsyncConnection, namespace_id: int, user_id: int, **values: Any) -> bool:
    """The same for a group."""
    rule = (namespace_member.c.namespace_id == namespace_id) & (namespace_member.c.user_id == user_id)
    return bool((await connection.execute(update(namespace_member).where(rule).values(**values))).rowcount)


async def remove_from_project(connection: AsyncConnection, project_id: int, user_id: int) -> bool:
    """End a membership of a project; false if there is none."""
    rule = (member.c.project_id == project_id) & (member.c.user_id == user_id)
    return bool((await connection.execute(delete(member).where(rule))).rowcount)


async def remove_from_group(connection: AsyncConnection, namespace_id: int, user_id: int) -> bool:
    """The same for a group."""
    rule = (namespace_member.c.namespace_id == namespace_id) & (namespace_member.c.user_id == user_id)
    return bool((await connection.execute(delete(namespace_member).where(rule))).rowcount)


def narrowed(people: Listing[Typed], text: str) -> Listing[Typed]:
    """A statement for people, narrowed to those whose user name or name has a text."""
    if not text:
        return people
    rule = user.c.username.icontains(text, autoescape=True) | user.c.name.icontains(text, autoescape=True)
    return Listing(people.statement.where(rule), people.kind)


async def one(connection: AsyncConnection, people: Listing[Typed], user_id: int) -> Typed | None:
    """A person among those of a statement for members."""
    return first_of(people.kind, await connection.execute(people.statement.where(user.c.id == user_id)))
