"""New projects: where they may be made, and their row with its repository."""

from dataclasses import dataclass

from application.audit import record
from application.group_access import GroupAccess, access_to_group
from application.pods.visitors import require_own
from application.services import Services
from auth.permissions import OWNER, Caller, GroupAction
from domain.errors import Forbidden, NotFound
from models.repositories.accounts import accounts, members
from models.repositories.installation.audit import Entity, Happened
from models.repositories.namespaces import namespaces
from models.repositories.projects import projects
from models.rows.namespaces import NamespaceRow
from models.tables.projects import DEFAULT_GIT_DEPTH


@dataclass(frozen=True, slots=True)
class NewProjectFacts:
    """What is known of a project before it is made; `path` and `default_branch` are checked."""

    path: str
    name: str
    visibility: str = "private"
    default_branch: str = "main"
    description: str = ""
    git_depth: int | None = DEFAULT_GIT_DEPTH
    git_fetch: bool = True


async def create(services: Services, caller: Caller, owner: NamespaceRow, facts: NewProjectFacts) -> int:
    """Create a project with its empty repository; the caller becomes its owner. Raises `Conflict`, `Invalid`."""
    now = services.clock()
    async with services.database.write() as connection:
        key = await projects.create_project(
            connection,
            owner,
            facts.path,
            facts.name,
            caller.user_id,
            now,
            visibility=facts.visibility,
            default_branch=facts.default_branch,
            description=facts.description,
            git_depth=facts.git_depth,
            git_fetch=facts.git_fetch,
        )
        # Inside the transaction: a project without repository must not exist; a folder that is left over harms nobody.
        await services.repositories.create(key, facts.default_branch)
        entity = Entity("project", key, f"{owner.full_path}/{facts.path}")
        await record(connection, caller, entity, Happened("project_created", {"visibility": facts.visibility}), now)
    return key


def require_project_creation(found: GroupAccess) -> None:
    """Raise unless the caller may create projects there: developers of a group, in a person's own only that person."""
    if found.row.kind == "user" and found.row.owner_id != found.caller.user_id and not found.caller.is_admin:
        raise Forbidden(f"Forbidden: {found.row.full_path} is somebody's own namespace.")
    found.require(GroupAction.ADD_PROJECT)


async def namespace_for(services: Services, caller: Caller, reference: str | None) -> NamespaceRow:
    """The group of a new project, by id or path; the caller's own without one.

    Raises `Forbidden` for one in which the caller may create none.
    """
    if reference is None:
        return await _own_namespace(services, caller)
    found = await access_to_group(services, caller, reference)
    require_project_creation(found)
    return found.row


async def _own_namespace(services: Services, caller: Caller) -> NamespaceRow:
    """The caller's own namespace, made when they first want it.

    Raises `Forbidden` for visitors, whose own one is at home, and where a group has that name.
    """
    async with services.database.write() as connection:
        try:
            row = await namespaces.get_by(connection, path=caller.username)
        except NotFound:
            require_own(services, await accounts.get(connection, caller.user_id), "make your own projects")
            name = caller.username
            made_at, owner_id = services.clock(), caller.user_id
            key = await namespaces.create(connection, name, name, made_at, kind="user", owner_id=owner_id)
            await members.add_to_group(connection, key, caller.user_id, OWNER)
            return await namespaces.get_by(connection, key=key)
    if row.owner_id != caller.user_id or row.kind != "user":
        raise Forbidden(f"Forbidden: the name {caller.username} is that of a group; name a group for the project.")
    return row
