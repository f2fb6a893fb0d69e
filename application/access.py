"""What a caller may do with a project, for whoever acts in their name: doors, and what runs by itself."""

from dataclasses import dataclass, replace
from typing import Final

from sqlalchemy.ext.asyncio import AsyncConnection

from application.services import Services
from auth.permissions import LEVEL_FOR, Action, Caller, level_of, require
from domain.errors import Forbidden, NotFound, Unauthenticated
from domain.merge_requests.merge_request import own_branch_of
from domain.pods.directory import BLOCK_BITS
from domain.projects.protection import Protection
from models.repositories.accounts import members
from models.repositories.installation.audit import Entity
from models.repositories.namespaces import job_token_access
from models.repositories.projects import project_removal, projects, protected_refs
from models.repositories.projects.projects import Viewer
from models.rows.accounts import UserRow
from models.rows.pipelines import PipelineRow
from models.rows.projects import ProjectRow

_CHANGING: Final = frozenset({Action.PUSH, Action.RUN})
"""What nobody does with an archived project."""


def caller_from(row: UserRow, *, token_id: int = 0, scopes: tuple[str, ...] | None = None, address: str = "") -> Caller:
    """The caller that a person is; with the token that they have shown, if any, and where they call from."""
    visited = None if row.home_pod is None else row.id >> BLOCK_BITS
    return Caller(row.id, row.username, row.is_admin, row.external, token_id, scopes, address, visited_pod=visited)


def viewer_of(caller: Caller) -> Viewer:
    """The caller as lists know them."""
    return Viewer(caller.user_id, caller.is_admin, internal=caller.is_known and not caller.external)


@dataclass(frozen=True, slots=True)
class ProjectAccess:
    """A project as one caller may use it.

    `member_level` is what they are there as a member: whoever may see an open project has a `level` without being one.
    """

    row: ProjectRow
    caller: Caller
    level: int
    protection: Protection
    member_level: int = 0

    def require(self, action: Action) -> None:
        """Raise unless the caller may do it."""
        require(self.caller, action, self.level, self.row.visibility)
        if self.row.archived and action in _CHANGING:
            raise Forbidden("Forbidden: the project is archived; nothing of it changes until it is unarchived.")

    def may(self, action: Action) -> bool:
        """Whether the caller may do it."""
        try:
            self.require(action)
        except (Forbidden, NotFound, Unauthenticated):
            return False
        return True

    @property
    def entity(self) -> Entity:
        """The project as audit events name it."""
        return Entity("project", self.row.id, self.row.full_path)

    def require_run(self, ref: str, *, tag: bool) -> None:
        """Raise unless the caller may run pipelines, and jobs of them, on a ref: a protected one asks for more."""
        self.require(Action.RUN)
        if not self.protection.may_run(ref, self.level, tag=tag):
            kind = "tag" if tag else "branch"
            raise Forbidden(f"Forbidden: {ref} is a protected {kind}; only who may change it may run pipelines on it.")

    def require_run_of(self, pipeline: PipelineRow) -> None:
        """Raise unless the caller may run jobs of a pipeline, and cancel, erase and keep what is of it, as in GitLab.

        One that is protected asks for both of its branches.
        """
        facts = pipeline.merge_request
        self.require_run(own_branch_of(pipeline.ref, facts), tag=pipeline.tag)
        if facts and pipeline.ref_protected:
            self.require_run(facts["target_branch"], tag=False)

    def may_run(self, pipeline: PipelineRow) -> bool:
        """Whether the caller may run jobs of a pipeline."""
        try:
            self.require_run_of(pipeline)
        except (Forbidden, NotFound, Unauthenticated):
            return False
        return True


async def access_to(
    services: Services, caller: Caller, reference: int | str, least: Action = Action.READ
) -> ProjectAccess:
    """A project that the caller may at least read, or do what `least` says. Raises `NotFound`, `Forbidden`.

    To a job of a project that this one does not let in, it is what it is to strangers. The database is asked the same
    for a project that is not there as for one that the caller may not know of: the time of an answer tells neither.
    """
    async with services.database.read() as connection:
        row = await projects.find(connection, reference, removed=True)
        member = await members.level_in_project(connection, 0 if row is None else row.id, caller.user_id)
        if caller.job_id and not await job_token_access.allows(
            connection, row, caller.job_project_id, caller.job_groups
        ):
            caller, member = replace(caller, is_admin=False), 0
        if row is None:
            raise NotFound("Project Not Found")
        level = level_of(caller, member, row.visibility)
        if row.removal_asked_at is not None:
            raise NotFound(await _tell_removal(connection, row, level))
        require(caller, Action.SEE, level, row.visibility)
        protection = await protected_refs.of_project(connection, row.id)
    access = ProjectAccess(row, caller, level, protection, member)
    access.require(least)
    return access


async def _tell_removal(connection: AsyncConnection, row: ProjectRow, level: int) -> str:
    """What is said of a project that is being removed: to its owners how far that is, to others that there is none."""
    if level < LEVEL_FOR[Action.OWN]:
        return "Project Not Found"
    there = await project_removal.left(connection, row.id)
    running = len(await project_removal.unfinished(connection, row.id))
    first = f", {running} of which have to end first" if running else ""
    return f"Project Not Found: {row.full_path} is being removed; {there} of its pipelines are left{first}."


async def visible_to(services: Services, user: UserRow, reference: int | str) -> ProjectAccess | None:
    """A project that somebody may read, for what runs in their name; None for any other."""
    try:
        return await access_to(services, caller_from(user), reference)
    except (NotFound, Forbidden):
        return None
