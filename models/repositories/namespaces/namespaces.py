"""Groups, the groups within them, and people's own namespaces."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Select, delete, func, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.errors import FieldsInvalid, NotFound, Refused
from models.columns import table_of
from models.repositories.hooks import hooks
from models.repositories.owner import Owner
from models.rows.namespaces import NamespaceRow
from models.tables.accounts import AccessToken, User
from models.tables.badges import Badge
from models.tables.deploy_tokens import DeployToken
from models.tables.job_token_access import JobTokenAccess
from models.tables.labels import Label, Milestone
from models.tables.namespaces import Namespace, NamespaceMember
from models.tables.notifications import NotificationSetting
from models.tables.projects import Project
from models.tables.protected_environments import DeployAccessLevel, ProtectedEnvironment
from models.tables.runners import Runner
from models.tables.sharing import ProjectShare
from models.tables.variables import CiVariable
from models.typed_rows import all_of, first_of

namespace = table_of(Namespace)
namespace_member = table_of(NamespaceMember)
project = table_of(Project)
runner = table_of(Runner)
access_token = table_of(AccessToken)
deploy_token = table_of(DeployToken)
token_access = table_of(JobTokenAccess)
share = table_of(ProjectShare)
variable = table_of(CiVariable)
label = table_of(Label)
milestone = table_of(Milestone)
protected_environment = table_of(ProtectedEnvironment)
deploy_access_level = table_of(DeployAccessLevel)
badge = table_of(Badge)
notification_setting = table_of(NotificationSetting)
user = table_of(User)


async def create(
    connection: AsyncConnection,
    path: str,
    name: str,
    now: datetime,
    *,
    parent: NamespaceRow | None = None,
    **values: Any,
) -> int:
    """Add a group, within `parent` or at the top. Raises `Invalid` when the path is taken."""
    full_path = path if parent is None else f"{parent.full_path}/{path}"
    await require_free(connection, full_path)
    if parent is None and values.get("kind") != "user" and not await is_free(connection, path):
        raise FieldsInvalid(path="has already been taken")  # by a person, whose own namespace it would be
    statement = insert(namespace).values(
        path=path,
        full_path=full_path,
        name=name,
        organisation_id=0 if parent is None else parent.organisation_id,
        parent_id=None if parent is None else parent.id,
        created_at=now,
        **values,
    )
    made: int = (await connection.execute(statement.returning(namespace.c.id))).scalar_one()
    trail = f"/{made}/" if parent is None else f"{parent.trail}{made}/"
    rest: dict[str, Any] = {"trail": trail} if parent is not None else {"trail": trail, "organisation_id": made}
    await connection.execute(update(namespace).where(namespace.c.id == made).values(**rest))
    return made


async def require_free(connection: AsyncConnection, full_path: str) -> None:
    """Raise `FieldsInvalid` if a group or a project has this path already."""
    for table in (namespace, project):
        taken = select(table.c.id).where(func.lower(table.c.full_path) == full_path.lower())
        if (await connection.execute(taken)).first() is not None:
            raise FieldsInvalid(path="has already been taken")


async def is_free(connection: AsyncConnection, name: str) -> bool:
    """Whether a name is neither that of a person nor the path of a group, in any case."""
    person = select(user.c.id).where(func.lower(user.c.username) == name.lower())
    group = select(namespace.c.id).where(func.lower(namespace.c.full_path) == name.lower())
    return (await connection.execute(person.union_all(group))).first() is None


async def get_by(connection: AsyncConnection, *, path: str | None = None, key: int | None = None) -> NamespaceRow:
    """A group by its full path or id. Raises `NotFound`."""
    row = await find(connection, path=path, key=key)
    if row is None:
        raise NotFound("Namespace Not Found")
    return row


async def find(connection: AsyncConnection, *, path: str | None = None, key: int | None = None) -> NamespaceRow | None:
    """The same, or None; one that is being removed is not there any more."""
    rule = namespace.c.full_path == path if path is not None else namespace.c.id == key
    statement = select(namespace).where(rule, namespace.c.removal_asked_at.is_(None))
    return first_of(NamespaceRow, await connection.execute(statement))


async def find_top(connection: AsyncConnection, path: str) -> NamespaceRow | None:
    """The group at the top with this path, in any case; None for a person's own namespace, or one that is removed."""
    rule = (func.lower(namespace.c.full_path) == path.lower()) & (namespace.c.kind == "group")
    statement = select(namespace).where(rule, namespace.c.parent_id.is_(None), namespace.c.removal_asked_at.is_(None))
    return first_of(NamespaceRow, await connection.execute(statement))


async def own_of(connection: AsyncConnection, user_ids: Iterable[int]) -> dict[int, int]:
    """The ids of people's own namespaces by the ids of those who have one."""
    statement = select(namespace.c.owner_id, namespace.c.id).where(
        namespace.c.kind == "user", namespace.c.owner_id.in_(list(user_ids)), namespace.c.removal_asked_at.is_(None)
    )
    return {row.owner_id: row.id for row in await connection.execute(statement)}


async def project_count(connection: AsyncConnection, namespace_id: int) -> int:
    """How many projects are directly in a namespace."""
    statement = select(func.count()).where(project.c.namespace_id == namespace_id)
    return int((await connection.execute(statement)).scalar_one())


async def above(connection: AsyncConnection, row: NamespaceRow) -> Sequence[NamespaceRow]:
    """A group and all above it, the topmost first."""
    found = await connection.execute(select(namespace).where(namespace.c.id.in_(trail_of(row.trail))))
    return sorted(all_of(NamespaceRow, found), key=lambda each: len(each.trail))


def trail_of(trail: str) -> tuple[int, ...]:
    """The ids of a trail, from the top."""
    return tuple(int(part) for part in trail.split("/") if part)


def within(row: NamespaceRow, *, directly: bool) -> Select[Any]:
    """Statement for the groups within a group, by path."""
    statement = select(namespace).order_by(namespace.c.full_path, namespace.c.id)
    if directly:
        return statement.where(namespace.c.parent_id == row.id)
    return statement.where(namespace.c.trail.startswith(row.trail, autoescape=True), namespace.c.id != row.id)


async def change(connection: AsyncConnection, namespace_id: int, **values: Any) -> None:
    """Write columns of a group."""
    if values:
        await connection.execute(update(namespace).where(namespace.c.id == namespace_id).values(**values))


async def remove(connection: AsyncConnection, row: NamespaceRow) -> None:
    """Remove a group that holds nothing any more. Raises `Refused`."""
    for table, words in ((project, "projects"), (runner, "runners")):
        if (await connection.execute(select(table.c.id).where(table.c.namespace_id == row.id).limit(1))).first():
            raise Refused(f"Conflict: {row.full_path} still has {words}; remove those first.")
    if (await connection.execute(within(row, directly=True).limit(1))).first() is not None:
        raise Refused(f"Conflict: {row.full_path} still has groups within it; remove those first.")
    await hooks.remove_all(connection, Owner(namespace_id=row.id))
    await _remove_deploy_access(connection, row.id)
    owned = (variable, access_token, deploy_token, token_access, share, namespace_member, label, milestone, badge)
    for table in (*owned, protected_environment, notification_setting):
        await connection.execute(delete(table).where(table.c.namespace_id == row.id))
    await connection.execute(delete(namespace).where(namespace.c.id == row.id))


async def _remove_deploy_access(connection: AsyncConnection, namespace_id: int) -> None:
    """Whom the group's rules for environments let in, and where the group is let in."""
    rules = select(protected_environment.c.id).where(protected_environment.c.namespace_id == namespace_id)
    of_group = or_(
        deploy_access_level.c.group_id == namespace_id, deploy_access_level.c.protected_environment_id.in_(rules)
    )
    await connection.execute(delete(deploy_access_level).where(of_group))
