"""What a list of merge requests shows beside each of them: one statement for all rows of a page."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from sqlalchemy import and_, func, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.merge_requests.merge_request import State
from domain.pipelines.bridges import CHILD
from domain.variables.predefined import MERGE_REQUEST_SOURCE
from models.columns import padded
from models.repositories.merge_requests.merge_requests import (
    MergeRequestFilter,
    approval,
    listed,
    merge_request,
    pipeline,
)
from models.repositories.pipelines.warnings import PIPELINE
from models.rows.merge_requests import MergeRequestRow
from models.rows.pipelines import PipelineRow
from models.typed_rows import all_of


async def counts_by_state(connection: AsyncConnection, wanted: MergeRequestFilter) -> dict[State, int]:
    """How many merge requests of a filter are in each state; its own `state` does not narrow them."""
    every = listed(replace(wanted, state="")).statement.order_by(None).subquery()
    rows = (await connection.execute(select(every.c.state, func.count()).group_by(every.c.state))).all()
    return {State(row[0]): row[1] for row in rows}


async def head_pipelines(connection: AsyncConnection, rows: Collection[MergeRequestRow]) -> dict[int, PipelineRow]:
    """The pipeline of each merge request's head by the id of the merge request, chosen as `head_pipeline` does."""
    if not rows:
        return {}
    own = pipeline.c.merge_request_id.in_(padded([row.id for row in rows]))
    pushed = and_(
        pipeline.c.project_id.in_(padded({row.source_project_id for row in rows if row.source_project_id})),
        pipeline.c.sha.in_(padded({row.head_sha for row in rows})),
        ~pipeline.c.tag,
    )
    heads = padded({row.head_sha for row in rows})
    at_head = or_(pipeline.c.sha.in_(heads), pipeline.c.source_sha.in_(heads))
    statement = select(*PIPELINE).where(or_(own, pushed), at_head, pipeline.c.source != CHILD)
    of_event = (pipeline.c.source == MERGE_REQUEST_SOURCE).desc()
    found = all_of(PipelineRow, await connection.execute(statement.order_by(of_event, pipeline.c.id.desc())))
    chosen = {row.id: next((one for one in found if _is_of(one, row)), None) for row in rows}
    return {key: one for key, one in chosen.items() if one is not None}


def _is_of(found: PipelineRow, row: MergeRequestRow) -> bool:
    if row.head_sha not in {found.sha, found.source_sha}:
        return False
    is_push = (found.project_id, found.ref, found.sha) == (row.source_project_id, row.source_branch, row.head_sha)
    return found.merge_request_id == row.id or (is_push and not found.tag)


async def approver_ids(connection: AsyncConnection, ids: Collection[int]) -> Mapping[int, Sequence[int]]:
    """Who approved each of these merge requests, by its id: ids of accounts."""
    found: dict[int, list[int]] = {key: [] for key in ids}
    if not found:
        return found
    statement = select(approval.c.merge_request_id, approval.c.user_id)
    statement = statement.where(approval.c.merge_request_id.in_(padded(ids)))
    for key, user_id in await connection.execute(statement.order_by(approval.c.created_at)):
        found[key].append(user_id)
    return found


async def by_ids(connection: AsyncConnection, ids: Collection[int]) -> dict[int, MergeRequestRow]:
    """Merge requests by id."""
    if not ids:
        return {}
    statement = select(merge_request).where(merge_request.c.id.in_(padded(ids)))
    return {row.id: row for row in all_of(MergeRequestRow, await connection.execute(statement))}
