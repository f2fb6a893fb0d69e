"""After a move: the workflows of an organisation that has left the pod end. They have no rows here any more."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final

from domain.pipelines.status import COMPLETE
from workflows.await_job import workflow_id
from workflows.handles import Pipelines
from workflows.resource_group import group_workflow_id
from workflows.runs import MOVED

MAX_CONCURRENT: Final = 20
"""So many are ended in parallel."""


async def end_workflows(workflows: Pipelines, pipelines: Mapping[int, str], groups: Sequence[int]) -> int:
    """End those of these pipelines (status by id) and resource groups that run; how many.

    Raises `RPCError` while Temporal is away. A pipeline that has ended is looked for where Temporal lists what is open.
    """
    opened = await workflows.runs.opened()
    running = [key for key, status in pipelines.items() if status not in COMPLETE or key in opened]
    names = [*map(workflow_id, running), *map(group_workflow_id, groups)]
    ended = 0
    for start in range(0, len(names), MAX_CONCURRENT):
        batch = names[start : start + MAX_CONCURRENT]
        ended += sum(await asyncio.gather(*(workflows.runs.end(name, MOVED) for name in batch)))
    return ended
