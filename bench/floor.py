"""The floor: what Temporal and its SDK need for the same shapes when nothing else is done.

    echo '{"address": ..., ...}' | python -m bench.floor

One process, as ours is one: it starts the workflows, runs them, and completes every activity by its id, with as many
callers at a time as the whole way has runners. Pollers, workflow runner, converter and cache are our own worker's.
"""

import asyncio
import json
import sys
import time
from dataclasses import asdict, dataclass, field
from typing import Any, Final
from uuid import uuid4

import uvloop
from temporalio.client import Client, WorkflowHandle
from temporalio.worker import PollerBehaviorAutoscaling, UnsandboxedWorkflowRunner, Worker

from activities.data_converter import data_converter
from bench.floor_workflow import FloorActivities, FloorGraph, FloorWorkflow

_QUEUE: Final = "bench-floor"
_STARTERS: Final = 5
"""So many workflows are started at the same time, as the whole way creates its pipelines."""
_DEADLINE: Final = 180.0
_WARM: Final = 5
"""At most so many workflows run unmeasured."""


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be done, and where."""

    address: str
    namespace: str
    workflows: int
    callers: int
    widths: list[int] = field(default_factory=list)
    """Jobs of each stage."""
    needs: list[list[int]] = field(default_factory=list)
    """For a graph instead of stages: the positions of the jobs that each job needs."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Seconds from the first start to the end of the last workflow; processor time of this process within them."""

    seconds: float
    cpu: float


class Floor:
    """One run."""

    def __init__(self, client: Client, order: Order) -> None:
        """Use a connected client."""
        self._client = client
        self._order = order
        self._started: asyncio.Queue[tuple[str, str]] = asyncio.Queue()

    async def run(self) -> Outcome:
        """Run a few workflows to warm up, then measure."""
        activities = FloorActivities(lambda workflow, activity: self._started.put_nowait((workflow, activity)))
        worker = Worker(
            self._client,
            task_queue=_QUEUE,
            workflows=[FloorWorkflow, FloorGraph],
            activities=[activities.await_nothing],
            workflow_runner=UnsandboxedWorkflowRunner(),
            workflow_task_poller_behavior=PollerBehaviorAutoscaling(),
            activity_task_poller_behavior=PollerBehaviorAutoscaling(),
            max_concurrent_workflow_tasks=20,
            max_cached_workflows=2_000,
        )
        async with worker, asyncio.timeout(_DEADLINE):
            callers = [asyncio.create_task(self._complete()) for _ in range(self._order.callers)]
            await self._workflows(min(_WARM, self._order.workflows))
            start, cpu = time.perf_counter(), time.process_time()
            await self._workflows(self._order.workflows)
            outcome = Outcome(time.perf_counter() - start, time.process_time() - cpu)
            for caller in callers:
                caller.cancel()
        return outcome

    async def _workflows(self, count: int) -> None:
        turn = asyncio.Semaphore(_STARTERS)

        async def one() -> None:
            async with turn:
                handle = await self._start()
            await handle.result()

        await asyncio.gather(*(one() for _ in range(count)))

    async def _start(self) -> WorkflowHandle[Any, None]:
        name = f"floor-{uuid4()}"
        if self._order.needs:
            return await self._client.start_workflow(FloorGraph.run, self._order.needs, id=name, task_queue=_QUEUE)
        return await self._client.start_workflow(FloorWorkflow.run, self._order.widths, id=name, task_queue=_QUEUE)

    async def _complete(self) -> None:
        while True:
            workflow, activity = await self._started.get()
            handle = self._client.get_async_activity_handle(workflow_id=workflow, run_id=None, activity_id=activity)
            await handle.complete()


async def _measure(order: Order) -> Outcome:
    client = await Client.connect(order.address, namespace=order.namespace, data_converter=data_converter)
    return await Floor(client, order).run()


def main() -> None:
    """Read the order, carry it out, print the outcome."""
    print(json.dumps(asdict(uvloop.run(_measure(Order(**json.load(sys.stdin)))))))


if __name__ == "__main__":
    main()
