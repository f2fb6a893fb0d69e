"""How far a target branch has moved on since a pipeline was made for it: what passed then may fail now."""

from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from application.merge_requests.context import MergeContext
from domain.errors import PerdureError
from domain.merge_requests.merge_request import EventType, tested_target
from git.reading.history import count_between
from models.rows.pipelines import PipelineRow

MAX_COUNTED: Final = 1_000
"""So many commits are counted."""


@dataclass(frozen=True, slots=True)
class Drift:
    """The target was at `tested` when the pipeline was made; `head` is what it is now, `commits` later (0: unknown).

    `merged`: the pipeline tested the result of the merge, so that a new one tests the new result.
    """

    tested: str
    head: str
    commits: int
    merged: bool


async def drift_of(here: MergeContext, pipeline: PipelineRow | None, target_head: str | None) -> Drift | None:
    """None while the pipeline knows the target as it is, and where there is nothing to say of it."""
    if pipeline is None or target_head is None:
        return None
    tested = tested_target(pipeline.merge_request) or here.row.start_sha
    if not tested or tested == target_head:
        return None
    commits = 0
    with suppress(PerdureError):  # the branch was begun anew, and what it was is gone
        commits = await count_between(here.repository, target_head, tested, MAX_COUNTED)
    merged = pipeline.merge_request.get("event_type") in {EventType.MERGED_RESULT, EventType.TRAIN}
    return Drift(tested, target_head, commits, merged)
