"""Whether a merge request can be merged: what the database knows, and what git says of the two branches as they are."""

from collections.abc import Iterable

from application.merge_requests.context import MergeContext
from application.services import Services
from domain.errors import Refused
from domain.merge_requests.merge_request import MergeMethod, State
from git.writing.merging import is_ancestor, merged_tree
from models.repositories.merge_requests import merge_requests, standings
from models.repositories.merge_requests.merge_requests import ApproverRow
from models.repositories.merge_requests.standings import GOES, GOES_NOT, KNOWN, Assessment


async def assess(services: Services, here: MergeContext) -> Assessment:
    """How things stand now; git is asked if either branch has moved since it was asked. Raises `Unavailable`."""
    target = await here.target_head()
    seen = await _by_git(services, here, target)
    async with services.database.read() as connection:
        return await standings.assessed(connection, here.row, here.target, target, seen)


def counted(here: MergeContext, approvals: Iterable[ApproverRow]) -> list[ApproverRow]:
    """The approvals that count."""
    return standings.counted(here.row, here.target, approvals)


def missing(here: MergeContext, approvals: Iterable[ApproverRow]) -> int:
    """How many approvals are still needed."""
    return standings.missing(here.row, here.target, approvals)


async def _by_git(services: Services, here: MergeContext, target: str | None) -> tuple[bool | None, bool]:
    """Whether the branches go together, and whether the source has all of the target."""
    row = here.row
    if row.state not in {State.OPENED, State.LOCKED} or target is None:
        return KNOWN.get(row.merge_status), True
    goes = KNOWN.get(row.merge_status) if row.checked_sha == target else None
    if goes is None:
        goes = await _goes_together(here, target)
        async with services.database.write() as connection:
            await merge_requests.note_check(connection, row, GOES if goes else GOES_NOT, target)
    if MergeMethod(here.target.merge_method) is MergeMethod.MERGE:
        return goes, True
    return goes, await is_ancestor(here.repository, target, row.head_sha)


async def _goes_together(here: MergeContext, target: str) -> bool:
    try:
        return not (await merged_tree(here.repository, target, here.row.head_sha)).conflicts
    except Refused:  # they have no commit in common
        return False
