"""How merge requests stand by what the database knows: pipelines, approvals, threads. What git says is handed in."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from sqlalchemy.ext.asyncio import AsyncConnection

from domain.merge_requests.merge_request import MergeMethod, Standing, State, is_draft
from domain.pipelines.status import Status
from models.repositories.merge_requests import merge_request_events, merge_request_notes, merge_requests
from models.repositories.merge_requests.merge_requests import ApproverRow
from models.rows.merge_requests import MergeRequestRow
from models.rows.pipelines import PipelineRow
from models.rows.projects import ProjectRow

GOES, GOES_NOT = "can_be_merged", "cannot_be_merged"
KNOWN: Final = {GOES: True, GOES_NOT: False}
"""Values of `merge_status` that say something; the other one is `unchecked`."""


@dataclass(frozen=True, slots=True)
class Assessment:
    """A merge request's standing, with its head pipeline, who approved it and its target's head."""

    standing: Standing
    pipeline: PipelineRow | None
    approvals: tuple[ApproverRow, ...]
    target_head: str | None


async def known_so_far(connection: AsyncConnection, row: MergeRequestRow, project: ProjectRow) -> Assessment:
    """How things stand by what the database knows, within a transaction; `project` is the target. Nobody asks git."""
    target = row.checked_sha or row.start_sha or None
    return await assessed(connection, row, project, target, (KNOWN.get(row.merge_status), True))


async def assessed(
    connection: AsyncConnection,
    row: MergeRequestRow,
    project: ProjectRow,
    target: str | None,
    seen: tuple[bool | None, bool],
) -> Assessment:
    """`seen` is whether the branches go together, and whether the source has all of the target."""
    pipeline = await merge_requests.head_pipeline(connection, row)
    approvals = tuple(await merge_requests.approvals(connection, row.id))
    owed = await merge_request_events.of(connection, row.id, merge_request_events.PIPELINE)
    standing = Standing(
        state=State(row.state),
        draft=is_draft(row.title),
        has_commits=target is not None and row.head_sha != row.base_sha,
        approvals_missing=missing(row, project, approvals),
        resolved=row.id not in await merge_request_notes.unresolved(connection, [row.id]),
        resolved_required=project.only_merge_if_resolved,
        pipeline=_status(pipeline, owed=bool(owed)),
        pipeline_required=project.only_merge_if_pipeline_succeeds,
        skipped_is_enough=project.allow_merge_on_skipped_pipeline,
        goes_together=seen[0],
        contains_target=seen[1],
        method=MergeMethod(project.merge_method),
    )
    return Assessment(standing, pipeline, approvals, target)


def _status(pipeline: PipelineRow | None, *, owed: bool) -> str:
    """One that is still to be made counts as one that has not begun."""
    if owed:
        return Status.CREATED
    return "" if pipeline is None else pipeline.status


def counted(row: MergeRequestRow, project: ProjectRow, approvals: Iterable[ApproverRow]) -> list[ApproverRow]:
    """The approvals that count: the author's only if the project says so."""
    return [person for person in approvals if project.author_approval or person.id != row.author_id]


def missing(row: MergeRequestRow, project: ProjectRow, approvals: Iterable[ApproverRow]) -> int:
    """How many approvals are still needed."""
    return max(0, project.approvals_required - len(counted(row, project, approvals)))
