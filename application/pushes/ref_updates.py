"""Which refs may move: asked before every update, whether it comes by a push or over the REST API."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from application.access import ProjectAccess
from auth.permissions import MAINTAINER, Action
from domain.errors import Forbidden, Invalid
from domain.projects.protection import Movement
from domain.projects.ref_names import counterpart, is_like_a_commit, shadows
from git.reading.ref_presence import has_ref
from git.repository import Repository
from git.transport.push import RefUpdate
from git.writing.merging import is_ancestor

DEFAULT_BRANCH: Final = "The default branch of a project cannot be deleted."
LIKE_A_SHA: Final = "You cannot create a {kind} with a 40-character hexadecimal {kind} name."
"""A name like this would hide a commit, or be hidden by it."""
TAKEN: Final = (
    "You cannot create the {kind} {name}: there is a {other} of that name, and whoever names one could get the other. "
    "Choose another name, or delete the {other} first."
)
_KINDS: Final = ({"kind": "branch", "other": "tag"}, {"kind": "tag", "other": "branch"})


class Door(StrEnum):
    """How an update comes. What a push brings is not in the repository yet when it is asked about."""

    PUSH = "push"
    API = "api"
    MERGE = "merge"


async def require_updates(
    access: ProjectAccess, repository: Repository, updates: Sequence[RefUpdate], door: Door
) -> None:
    """Raise `Forbidden` or `Invalid`, in words fit for `git push`, unless the caller may do all of these updates.

    Nothing has been moved or noted when this is asked; one update that is forbidden forbids them all. Whether a push is
    forced only git can say when it has the commits (`forbids_force`). What is protected is deleted over the API, by
    maintainers, and never by a push, where a slip of the finger would do.
    """
    access.require(Action.PUSH)
    for update in updates:
        if update.is_delete and update.is_branch and update.short_name == access.row.default_branch:
            raise Forbidden(DEFAULT_BRANCH)
        if not (update.is_branch or update.is_tag):
            continue
        _require_name(update)
        if update.is_create and await _is_taken(repository, update, updates):
            raise Invalid(TAKEN.format(**_KINDS[update.is_tag], name=update.short_name))
        movement = await _movement(repository, update, door)
        if movement is Movement.DELETE and door is Door.API and access.level >= MAINTAINER:
            continue
        refusal = access.protection.refusal(update.short_name, movement, access.level, tag=update.is_tag)
        if refusal:
            raise Forbidden(refusal)


def _require_name(update: RefUpdate) -> None:
    """What has a wrong name from before may only go away."""
    kind = "branch" if update.is_branch else "tag"
    if update.is_delete:
        return
    if update.is_create and is_like_a_commit(update.short_name):
        raise Forbidden(LIKE_A_SHA.format(kind=kind))
    if why := shadows(update.short_name):
        raise Forbidden(f"You cannot create or move a {kind} named {update.short_name}: it {why}.")


async def _is_taken(repository: Repository, update: RefUpdate, updates: Sequence[RefUpdate]) -> bool:
    """Whether the name is that of a tag, for a branch, or the reverse: one that is there, or comes beside it."""
    other = counterpart(update.ref)
    beside = any(one.ref == other and not one.is_delete for one in updates)
    return beside or await has_ref(repository.path, other)


def forbids_force(access: ProjectAccess, updates: Sequence[RefUpdate]) -> bool:
    """Whether git must refuse updates of a push that lose commits: one of its branches is protected from that."""
    return any(
        update.is_branch
        and not (update.is_create or update.is_delete)
        and access.protection.refusal(update.short_name, Movement.FORCE, access.level, tag=False)
        for update in updates
    )


async def _movement(repository: Repository, update: RefUpdate, door: Door) -> Movement:
    if update.is_delete:
        return Movement.DELETE
    if update.is_create:
        return Movement.CREATE
    if door is Door.MERGE:
        return Movement.MERGE
    if door is Door.API and update.is_branch and not await is_ancestor(repository, update.old, update.new):
        return Movement.FORCE
    return Movement.UPDATE
