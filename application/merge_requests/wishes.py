"""Who may change and merge a merge request, how it is to be merged, and a merge that is to happen by itself."""

from dataclasses import asdict, dataclass
from datetime import datetime

from sqlalchemy.ext.asyncio import AsyncConnection

from application.access import ProjectAccess
from auth.permissions import Action
from domain.errors import Forbidden, Refused, Unauthenticated
from domain.merge_requests.merge_request import AutoMerge, State
from domain.merge_requests.notes import of_auto_merge
from domain.projects.protection import Movement
from models.repositories.merge_requests import merge_request_notes, merge_requests
from models.rows.merge_requests import MergeRequestRow
from models.rows.projects import ProjectRow


@dataclass(frozen=True, slots=True)
class MergeOptions:
    """How somebody wants a merge request merged; empty messages are made by template."""

    squash: bool = False
    remove_source_branch: bool = False
    merge_commit_message: str = ""
    squash_commit_message: str = ""


def require_change(access: ProjectAccess, row: MergeRequestRow) -> None:
    """Raise unless the caller may change it: its author may, and whoever may push to the project that it leads into."""
    if access.caller.is_known and access.caller.user_id == row.author_id:
        access.require(Action.SEE)
        if not access.row.archived:
            return
    access.require(Action.PUSH)


async def require_merge(access: ProjectAccess, branch: str) -> None:
    """Raise `Unauthenticated`, as GitLab does, unless the caller may merge into a branch."""
    try:
        access.require(Action.PUSH)
    except Forbidden as error:
        raise Unauthenticated("Unauthorized") from error
    if access.protection.refusal(branch, Movement.MERGE, access.level, tag=False):
        raise Unauthenticated("Unauthorized")


def strategy_of(target: ProjectRow) -> AutoMerge:
    """How a project merges by itself: over its merge train, if it has them."""
    return AutoMerge.TRAIN if target.merge_trains_enabled else AutoMerge.MERGE


async def merge_by_itself(
    connection: AsyncConnection,
    key: int,
    head_sha: str,
    user_id: int,
    strategy: AutoMerge,
    options: MergeOptions,
    now: datetime,
) -> None:
    """Have a merge request merged, or put on its train, in somebody's name as soon as nothing is in its way.

    Raises `Refused` if it is not open any more, or its head is not `head_sha` any more.
    """
    row = await merge_requests.lock(connection, key)
    if row is None or row.state != State.OPENED or row.head_sha != head_sha:
        raise Refused("SHA does not match HEAD of source branch: it has changed meanwhile")
    values = {"auto_merge": strategy, "auto_merge_user_id": user_id, "merge_options": asdict(options)}
    await merge_requests.change(connection, row.id, now, **values, merge_error="")
    await merge_request_notes.add_system(connection, row.id, user_id, of_auto_merge(row.head_sha), now)
