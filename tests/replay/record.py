"""Records the histories that `test_replay` replays: `python -m tests.replay.record [SHAPE ...]`.

Runs shapes on a real Temporal server and writes `histories/<shape>.json`, one line each. A new shape is recorded by its
name; all of them again only when no history of users need replay any more, since the old ones must go on replaying.
"""

import asyncio
import json
import sys
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from temporalio.client import WorkflowExecutionStatus

from models.columns import table_of
from models.tables.environments import ResourceGroup
from tests.models.world import job
from tests.replay.shapes import SHAPES, WINDOWS
from tests.temporal import temporal_server
from tests.waiting import eventually
from tests.workflows.pod import Pod, running_pod
from workflows import job_waits
from workflows.await_job import workflow_id
from workflows.resource_group import group_workflow_id

LONG: Final = {"limit.historyCount.suggestContinueAsNew": 150}
"""A history of so many events is long on the server that records: one is continued without thousands of jobs."""

HISTORIES: Final = Path(__file__).parent / "histories"


async def record(pod: Pod, name: str) -> str:
    """Play one shape; the history of its workflow's latest run, as one line of JSON."""
    pipeline_id = await SHAPES[name](pod)
    await pod.ended(pipeline_id)
    return await _history(pod, workflow_id(pipeline_id))


async def _history(pod: Pod, workflow: str) -> str:
    history = await pod.client.get_workflow_handle(workflow).fetch_history()
    return json.dumps(_without_traces(history.to_json_dict()), separators=(",", ":"), sort_keys=True)


def _without_traces(document: Any) -> Any:
    """Stack traces name folders of the machine that recorded; nobody replays them."""
    if isinstance(document, dict):
        return {key: _without_traces(value) for key, value in document.items() if key != "stackTrace"}
    return [_without_traces(item) for item in document] if isinstance(document, list) else document


async def _room(pod: Pod) -> str:
    """A waiting room of what was played last."""
    return str(max((row.id, row.room) for row in await pod.world.rows(job) if row.room)[1])


async def _group(pod: Pod) -> str:
    """The resource group that was used last."""
    return group_workflow_id(max(row.id for row in await pod.world.rows(table_of(ResourceGroup))))


BESIDE: Final[Mapping[str, tuple[str, Callable[[Pod], Awaitable[str]]]]] = {
    "sharded": ("waiting_room", _room),
    "resource_group": ("group", _group),
}
"""Workflows beside that of the pipeline whose history is kept too: its name, and how to find it."""


async def _closed(pod: Pod, workflow: str) -> str:
    async def closed() -> bool:
        found = await pod.client.get_workflow_handle(workflow).describe()
        return found.status is WorkflowExecutionStatus.COMPLETED

    await eventually(closed, f"{workflow} is closed", 90)
    return await _history(pod, workflow)


async def main(names: Sequence[str]) -> None:
    """Record these shapes."""
    HISTORIES.mkdir(exist_ok=True)
    small = (job_waits.OWN_JOBS, job_waits.ROOM_JOBS)
    with tempfile.TemporaryDirectory() as folder:
        async with temporal_server(Path(folder), LONG) as address:
            for name in names:
                job_waits.OWN_JOBS, job_waits.ROOM_JOBS = (3, 4) if name == "sharded" else small
                home = Path(folder) / name
                home.mkdir()
                async with running_pod(address, home, retry_window=WINDOWS.get(name, 0.0)) as pod:
                    await _keep(pod, name)


async def _keep(pod: Pod, name: str) -> None:
    text = await record(pod, name)
    (HISTORIES / f"{name}.json").write_text(text + "\n")
    sys.stdout.write(f"{name}: {len(text)} bytes\n")
    if name in BESIDE:
        other, find = BESIDE[name]
        (HISTORIES / f"{other}.json").write_text(await _closed(pod, await find(pod)) + "\n")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:] or list(SHAPES)))
