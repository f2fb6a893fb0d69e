"""New projects: where they may be made, and their row with its repository."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from application.access import access_to
from application.audit import record
from application.group_access import GroupAccess, access_to_group
from application.pods.visitors import require_own
from application.pushes.committing import WantedCommit, commit_files
from application.services import Services
from auth.permissions import OWNER, Caller, GroupAction, require_creation
from domain.errors import Forbidden, NotFound
from git.writing.file_actions import FileAction, Kind
from models.repositories.accounts import accounts, members
from models.repositories.installation.audit import Entity, Happened
from models.repositories.namespaces import namespaces
from models.repositories.projects import projects
from models.rows.namespaces import NamespaceRow


@dataclass(frozen=True, slots=True)
class NewProjectFacts:
    """What is known of a project before it is made; `path` and `default_branch` are checked."""

    path: str
    name: str
    visibility: str = "private"
    default_branch: str = "main"
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Other columns of its row."""
    readme: bool = False


async def create(services: Services, caller: Caller, owner: NamespaceRow, facts: NewProjectFacts) -> int:
    """Create a project with its repository, empty or with a README; the caller becomes its owner. Raises `Invalid`."""
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
            **facts.settings,
        )
        # Inside the transaction: a project without repository must not exist; a folder that is left over harms nobody.
        await services.repositories.create(key, facts.default_branch)
        entity = Entity("project", key, f"{owner.full_path}/{facts.path}")
        values = {"visibility": facts.visibility, **facts.settings}
        await record(connection, caller, entity, Happened("project_created", values), now)
    if facts.readme:
        await _commit_readme(services, caller, key, facts)
    return key


async def _commit_readme(services: Services, caller: Caller, key: int, facts: NewProjectFacts) -> None:
    description = facts.settings.get("description")
    text = f"# {facts.name}\n" + (f"\n{description}\n" if description else "")
    action = FileAction(kind=Kind.CREATE, path="README.md", content=text.encode())
    wanted = WantedCommit(branch=facts.default_branch, message="Initial commit", actions=[action])
    access = await access_to(services, caller, key)
    await commit_files(services, access, services.repositories.get(key), wanted)


async def require_project_creation(services: Services, found: GroupAccess) -> None:
    """Raise unless the caller may create projects there: developers of a group, in a person's own only that person."""
    if found.row.kind == "user" and found.row.owner_id != found.caller.user_id and not found.caller.is_admin:
        raise Forbidden(f"Forbidden: {found.row.full_path} is somebody's own namespace.")
    found.require(GroupAction.ADD_PROJECT)
    require_creation(found.caller, "projects", found.row.project_creation_level, found.level)
    await _require_room(services, found.row)


async def namespace_for(services: Services, caller: Caller, reference: str | None) -> NamespaceRow:
    """The group of a new project, by id or path; the caller's own without one.

    Raises `Forbidden` for one in which the caller may create none.
    """
    if reference is None:
        row = await _own_namespace(services, caller)
        await _require_room(services, row)
        return row
    found = await access_to_group(services, caller, reference)
    await require_project_creation(services, found)
    return found.row


async def _require_room(services: Services, row: NamespaceRow) -> None:
    """Raise `Forbidden` where a person has as many projects of their own as they may have."""
    if row.kind != "user" or row.owner_id is None:
        return
    async with services.database.read() as connection:
        limit = (await accounts.get(connection, row.owner_id)).projects_limit
        if await namespaces.project_count(connection, row.id) >= limit:
            raise Forbidden(f"Your project limit is {limit} projects! Please contact your administrator to increase it")


async def ensure_own_namespace(services: Services, caller: Caller) -> None:
    """Make the caller's own namespace, if they may have one: in GitLab everybody has theirs from the start."""
    if not caller.is_known or caller.job_id:
        return
    async with services.database.read() as connection:
        if (
            await namespaces.own_of(connection, [caller.user_id])
            or (await accounts.get(connection, caller.user_id)).bot
        ):
            return
    with suppress(Forbidden):  # visitors have theirs at home, and a group may have the name
        await _own_namespace(services, caller)


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
