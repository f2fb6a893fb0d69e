"""What system hooks are told of projects, groups, people and members: noted together with the audit event."""

from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.hooks.system_events import ACCESS, OF_MEMBER, event_of
from domain.hooks.webhooks import Event
from models.columns import table_of
from models.repositories.accounts import members
from models.repositories.hooks import webhook_events
from models.repositories.hooks.webhook_events import Happening
from models.repositories.paging import every_of
from models.rows.accounts import UserRow
from models.rows.namespaces import NamespaceRow
from models.rows.projects import ProjectRow
from models.tables.accounts import User
from models.tables.namespaces import Namespace
from models.tables.projects import Project
from models.typed_rows import first_of, one_of

project = table_of(Project)
namespace = table_of(Namespace)
user = table_of(User)

_OWNER = 50


async def note(
    connection: AsyncConnection, kind: str, entity_id: int, audit_event: str, details: dict[str, Any], now: datetime
) -> None:
    """Note what an audit event means to system hooks; nothing where there are none, or where they hear nothing of it.

    What the event speaks of must still be there.
    """
    name = event_of(kind, audit_event)
    if not name or not await webhook_events.system_listens(connection):
        return
    row = await _row(connection, kind, entity_id)
    if row is None:
        return
    facts: dict[str, Any] = {"event_name": name, "created_at": _moment(row.created_at), "updated_at": _moment(now)}
    if (kind, audit_event) in OF_MEMBER and not isinstance(row, UserRow):
        facts |= await _of_member(connection, row, details)
    elif isinstance(row, ProjectRow):
        facts |= await _of_project(connection, row)
    elif isinstance(row, NamespaceRow):
        facts |= {"name": row.name, "path": row.path, "full_path": row.full_path, "group_id": row.id}
    else:
        facts |= {"name": row.name, "email": row.email, "username": row.username, "user_id": row.id}
    await webhook_events.note_system(connection, Happening(None, Event.SYSTEM, facts=facts), now)


def _moment(value: datetime) -> str:
    return value.strftime("%Y-%m-%dT%H:%M:%SZ")


async def _row(connection: AsyncConnection, kind: str, key: int) -> ProjectRow | NamespaceRow | UserRow | None:
    if kind == "project":
        return first_of(ProjectRow, await connection.execute(select(project).where(project.c.id == key)))
    if kind == "group":
        return first_of(NamespaceRow, await connection.execute(select(namespace).where(namespace.c.id == key)))
    return first_of(UserRow, await connection.execute(select(user).where(user.c.id == key)))


async def _of_project(connection: AsyncConnection, row: ProjectRow) -> dict[str, Any]:
    above = select(namespace).where(namespace.c.id == row.namespace_id)
    group = one_of(NamespaceRow, await connection.execute(above))
    people = await every_of(connection, members.all_of_project(row))
    owners = [{"name": one.name, "email": one.email} for one in people if one.access_level >= _OWNER]
    owner = {"name": group.name, "email": ""}  # a group is an owner without an address
    if group.kind == "user" and group.owner_id is not None:
        person = one_of(UserRow, await connection.execute(select(user).where(user.c.id == group.owner_id)))
        owner = {"name": person.name, "email": person.email}
    return {
        "name": row.name,
        "path": row.path,
        "path_with_namespace": row.full_path,
        "project_id": row.id,
        "project_namespace_id": row.namespace_id,
        "owner_name": owner["name"],
        "owner_email": owner["email"],
        "owners": owners,
        "project_visibility": row.visibility,
    }


async def _of_member(
    connection: AsyncConnection, row: ProjectRow | NamespaceRow, details: dict[str, Any]
) -> dict[str, Any]:
    statement = select(user).where(user.c.username == details["member"])
    person = one_of(UserRow, await connection.execute(statement))
    level = ACCESS.get(details["access_level"], "")
    about = {
        "user_email": person.email,
        "user_name": person.name,
        "user_username": person.username,
        "user_id": person.id,
    }
    if isinstance(row, NamespaceRow):
        mine = {"group_access": level, "group_id": row.id, "group_name": row.name, "group_path": row.path}
        return {**mine, **about}
    return {
        "access_level": level,
        "project_id": row.id,
        "project_name": row.name,
        "project_path": row.path,
        "project_path_with_namespace": row.full_path,
        "project_visibility": row.visibility,
        **about,
    }
