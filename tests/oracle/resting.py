"""Whether the pipelines of a project are at rest, as SQL and Temporal tell it together."""

import asyncio
from collections.abc import Collection, Sequence
from typing import Any, Final

from sqlalchemy import Row, select
from temporalio.api.workflowservice.v1 import DescribeWorkflowExecutionResponse
from temporalio.service import RPCError, RPCStatusCode

from domain.pipelines.resource_groups import choose
from models.columns import table_of
from models.repositories.pipelines import resource_groups
from models.tables.environments import ResourceGroup
from tests.models.world import outbox_table, pipeline
from tests.workflows.pod import Pod
from workflows.await_job import workflow_id
from workflows.resource_group import group_workflow_id

group = table_of(ResourceGroup)

RESTS_WITHIN: Final = 40.0
PAUSE: Final = 0.02
MAX_PAUSE: Final = 0.2
"""Seconds between two looks, longer and longer while something is on its way: each asks Temporal for every workflow."""
TRIED_IN_VAIN: Final = 3
"""A row of the outbox that was tried so often will not be done before something else happens."""


async def unsent(pod: Pod, ids: Collection[int]) -> Sequence[Row[Any]]:
    """Rows of the outbox of these pipelines that are not done; a bell that rang is."""
    statement = select(outbox_table).where(outbox_table.c.pipeline_id.in_(ids), outbox_table.c.sent_at.is_(None))
    async with pod.world.database.read() as connection:
        return (await connection.execute(statement)).all()


class Resting:
    """Looks at a project."""

    def __init__(self, pod: Pod, project_id: int) -> None:
        """Look nowhere yet."""
        self._pod = pod
        self._world = pod.world
        self._project_id = project_id

    async def wait(self) -> None:
        """Wait until nothing is on its way: two looks in a row find nothing, and the same lengths of all histories."""
        deadline = asyncio.get_running_loop().time() + RESTS_WITHIN
        before: object = None
        pause = PAUSE
        while True:
            busy, lengths = await self._look()
            if not busy and lengths == before:
                return
            if asyncio.get_running_loop().time() > deadline:
                raise TimeoutError(f"after {RESTS_WITHIN:g} s still not at rest: {busy}")
            before = None if busy else lengths
            pause = min(MAX_PAUSE, pause * 1.5) if busy else PAUSE
            await asyncio.sleep(pause)

    async def _look(self) -> tuple[str, dict[str, int]]:
        """What is on its way, and the lengths of the histories."""
        ids = [row.id for row in await self._world.rows(pipeline, project_id=self._project_id)]
        for row in await unsent(self._pod, ids):
            if row.attempts < TRIED_IN_VAIN:
                return f"{row.kind} of pipeline {row.pipeline_id}: {row.error}", {}
        groups = [row.id for row in await self._world.rows(group, project_id=self._project_id)]
        for group_id in groups:
            async with self._world.database.read() as connection:
                seen = await resource_groups.situation(connection, group_id)
            if seen is not None and choose(seen.mode, seen.is_free, seen.candidates) is not None:
                return f"the slot of group {group_id} is wanted", {}
        lengths = {}
        for name in (*map(workflow_id, ids), *map(group_workflow_id, groups)):
            described = await self._describe(name)
            if described is None:
                continue
            if what := _does(described):
                return f"{name}: {what}", {}
            lengths[name] = described.workflow_execution_info.history_length
        return "", lengths

    async def _describe(self, name: str) -> DescribeWorkflowExecutionResponse | None:
        try:
            return (await self._pod.client.get_workflow_handle(name).describe()).raw_description
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return None
            raise


def _does(described: DescribeWorkflowExecutionResponse) -> str:
    """What a workflow has still to do by itself."""
    if described.HasField("pending_workflow_task"):
        return "has a task"
    names = {activity.activity_type.name for activity in described.pending_activities} - {"await_job"}
    return f"waits for {names}" if names else ""
