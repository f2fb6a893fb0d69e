"""Whether a merge request can be merged: what the database knows, and what git says of the two branches as they are."""

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncConnection

from application.merge_requests.context import MergeContext
from application.services import Services
from domain.errors import Refused
from domain.merge_requests.merge_request import MergeMethod, Standing, State, is_draft
from domain.pipelines.status import Status
from git.writing.merging import is_ancestor, merged_tree
from models.repositories.merge_requests import merge_request_events, merge_request_notes, merge_requests
from models.repositories.merge_requests.merge_requests import ApproverRow
from models.rows.pipelines import PipelineRow

GOES, GOES_NOT, UNKNOWN = "can_be_merged", "cannot_be_merged", "unchecked"
"""Values of `merge_status`."""
_KNOWN = {GOES: True, GOES_NOT: False}


@dataclass(frozen=True, slots=True)
class Assessment:
    """A merge request's standing, with its head pipeline, who approved it and its target's head."""

    standing: Standing
    pipeline: PipelineRow | None
    approvals: tuple[ApproverRow, ...]
    target_head: str | None


async def assess(services: Services, here: MergeContext) -> Assessment:
    """How things stand now; git is asked if either branch has moved since it was asked. Raises `Unavailable`."""
    target = await here.target_head()
    seen = await _by_git(services, here, target)
    async with services.database.read() as connection:
        return await _assessed(connection, here, target, seen)


async def known_so_far(connection: AsyncConnection, here: MergeContext) -> Assessment:
    """How things stand by what the database knows, within a transaction; nobody asks git."""
    target = here.row.checked_sha or here.row.start_sha or None
    return await _assessed(connection, here, target, (_KNOWN.get(here.row.merge_status), True))


async def _assessed(
    connection: AsyncConnection, here: MergeContext, target: str | None, seen: tuple[bool | None, bool]
) -> Assessment:
    """`seen` is whether the branches go together, and whether the source has all of the target."""
    row = here.row
    pipeline = await merge_requests.head_pipeline(connection, row)
    approvals = tuple(await merge_requests.approvals(connection, row.id))
    owed = await merge_request_events.of(connection, row.id, merge_request_events.PIPELINE)
    standing = Standing(
        state=State(row.state),
        draft=is_draft(row.title),
        has_commits=target is not None and row.head_sha != row.base_sha,
        approvals_missing=missing(here, approvals),
        resolved=row.id not in await merge_request_notes.unresolved(connection, [row.id]),
        resolved_required=here.target.only_merge_if_resolved,
        pipeline=_status(pipeline, owed=bool(owed)),
        pipeline_required=here.target.only_merge_if_pipeline_succeeds,
        skipped_is_enough=here.target.allow_merge_on_skipped_pipeline,
        goes_together=seen[0],
        contains_target=seen[1],
        method=MergeMethod(here.target.merge_method),
    )
    return Assessment(standing, pipeline, approvals, target)


def _status(pipeline: PipelineRow | None, *, owed: bool) -> str:
    """One that is still to be made counts as one that has not begun."""
    if owed:
        return Status.CREATED
    return "" if pipeline is None else pipeline.status


def counted(here: MergeContext, approvals: Iterable[ApproverRow]) -> list[ApproverRow]:
    """The approvals that count: the author's only if the project says so."""
    return [person for person in approvals if here.target.author_approval or person.id != here.row.author_id]


def missing(here: MergeContext, approvals: Iterable[ApproverRow]) -> int:
    """How many approvals are still needed."""
    return max(0, here.target.approvals_required - len(counted(here, approvals)))


async def _by_git(services: Services, here: MergeContext, target: str | None) -> tuple[bool | None, bool]:
    """Whether the branches go together, and whether the source has all of the target."""
    row = here.row
    if row.state not in {State.OPENED, State.LOCKED} or target is None:
        return _KNOWN.get(row.merge_status), True
    goes = _KNOWN.get(row.merge_status) if row.checked_sha == target else None
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
