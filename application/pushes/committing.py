"""Commits made by the server in the name of a person: with files given, or from what other commits changed."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from application.access import ProjectAccess
from application.pushes.push import update_refs
from application.services import Services
from domain.errors import Invalid, NotFound, Refused
from domain.projects.ref_names import HEADS
from git.names import checked_branch, checked_ref
from git.reading.revision import commit_named
from git.reading.signature import Signature
from git.repository import Repository
from git.transport.push import RefUpdate
from git.writing.file_actions import FileAction, tree_with
from git.writing.object_writing import NewCommit, write_commit
from git.writing.ref_transaction import NOTHING
from models.repositories.accounts import accounts

_MAX_ATTEMPTS: Final = 8
"""So often a commit is made anew because others moved the branch meanwhile."""

Build = Callable[[str | None], Awaitable[str]]
"""Makes the new head of a branch from its present one, None for a branch that is not there."""


@dataclass(frozen=True, slots=True)
class WantedCommit:
    """What a commit shall be. `branch` is where it goes; without a start it goes on from there.

    `force` lets a branch that exists begin anew at the start.
    """

    branch: str
    message: str
    actions: Sequence[FileAction]
    author_name: str = ""
    author_email: str = ""
    start_branch: str = ""
    start_sha: str = ""
    force: bool = False

    @property
    def has_start(self) -> bool:
        """Whether it starts anywhere else than at its branch."""
        return bool(self.start_sha) or self.start_branch not in {"", self.branch}


def branch_ref(name: str) -> str:
    """The full name of a branch's ref. Raises `Invalid` for a name that git forbids."""
    try:
        return checked_ref(f"{HEADS}{checked_ref(name)}")
    except Invalid:
        raise Invalid("Branch name is invalid") from None


def new_branch_ref(name: str) -> str:
    """The full name of the ref of a branch to be made. Raises `Invalid` for a name that a branch must not have."""
    try:
        return branch_ref(checked_branch(name))
    except Invalid:
        raise Invalid("Branch name is invalid") from None


async def signature_of(services: Services, access: ProjectAccess) -> Signature:
    """The caller, now."""
    async with services.database.read() as connection:
        user = await accounts.get(connection, access.caller.user_id)
    return Signature(user.name or user.username, user.email, services.clock())


async def commit_files(services: Services, access: ProjectAccess, repository: Repository, wanted: WantedCommit) -> str:
    """Make a commit of actions on files and let its branch name it; the commit's sha.

    Raises `Invalid` for what cannot be done, `Forbidden`, `Unavailable`.
    """
    me = await signature_of(services, access)
    author = Signature(wanted.author_name or me.name, wanted.author_email or me.email, me.moment)

    async def build(head: str | None) -> str:
        start = await _start(repository, wanted, head)
        tree = await tree_with(repository, start, wanted.actions)
        parents = () if start is None else (start,)
        return await write_commit(repository, NewCommit(tree, parents, wanted.message, author, me))

    return await advance(services, access, repository, wanted.branch, build)


async def _start(repository: Repository, wanted: WantedCommit, head: str | None) -> str | None:
    """The commit to go on from; None in an empty repository."""
    if wanted.has_start and head is not None and not wanted.force:
        raise Invalid(
            f"A branch called '{wanted.branch}' already exists. Switch to that branch in order to make changes"
        )
    if wanted.start_sha:
        start = await commit_named(repository, wanted.start_sha)
        if start is None:
            raise Invalid(f"Cannot find start_sha '{wanted.start_sha}'")
        return start
    if wanted.has_start:
        start = await commit_named(repository, branch_ref(wanted.start_branch))
        if start is None:
            raise Invalid(f"Cannot find start_branch '{wanted.start_branch}'")
        return start
    if head is None and await repository.branches():
        raise Invalid("You can only create or edit files when you are on a branch")
    return head


async def advance(services: Services, access: ProjectAccess, repository: Repository, branch: str, build: Build) -> str:
    """Give a branch the head that `build` makes of its present one; the new head.

    When others move the branch meanwhile it is built again. Raises what `build` raises, `Invalid` when the branch never
    stands still, `Forbidden`, `Unavailable`.
    """
    ref = new_branch_ref(branch)
    for _ in range(_MAX_ATTEMPTS):
        head = await commit_named(repository, ref)
        made = await build(head)
        try:
            await update_refs(services, access, repository, [RefUpdate(head or NOTHING, made, ref)])
        except Refused as error:
            if await commit_named(repository, ref) == head:
                raise Invalid(f"Could not update {ref}: another branch is in its way.") from error
        else:
            return made
    raise Invalid(f"Could not update {ref}. Please refresh and try again.")


async def existing_head(repository: Repository, branch: str) -> str:
    """The head of a branch. Raises `NotFound`."""
    try:
        head = await commit_named(repository, branch_ref(branch))
    except Invalid:
        head = None
    if head is None:
        raise NotFound("Branch Not Found")
    return head
