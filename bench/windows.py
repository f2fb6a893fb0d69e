"""The cost of retry windows: failed pipelines whose workflows wait for a retry, and do nothing else.

The rows are copies of one pipeline that has run; each gets a workflow of its own, which reads SQL, finds its pipeline
failed, and waits. A workflow is started as one of a pipeline at work, so that its own word that it waits tells when the
window is open: starts are quicker than what they cause, and whatever is asked before the last is done stands in a queue
behind them. Measured are the memory of Temporal and of our process before and after, the processor time of both at
rest, what one look of the reconciler at all workflows takes, and how long a retry among them takes to be offered.
"""

import asyncio
import statistics
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

from sqlalchemy import insert, select
from sqlalchemy.ext.asyncio import AsyncConnection
from temporalio.client import Client
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError

from activities.data_converter import data_converter
from bench.engine import WORKER, warm_up
from bench.options import Options
from bench.rows import Row, Side
from bench.servers import Servers, running
from domain.messages import PipelineFacts
from domain.pipelines.status import Status
from models.clock import system_clock
from models.columns import table_of
from models.repositories.pipelines import pipelines
from models.session import Database
from models.tables.pipelines import Job, Pipeline, Stage
from settings import TimeLimits
from workflows.handles import Pipelines

NUMBER: Final = 10_000
MAX_CONCURRENT: Final = 20
IDLE: Final = 30.0
"""Seconds in which nothing happens, and processor time is taken."""
RETRIES: Final = 20
LOOKS: Final = 10
SAMPLE: Final = 10.0
"""Seconds over which processor time is compared, to see whether all is at rest."""
STEADY: Final = 1.0
"""Per cent of a core by which two samples in a row may differ at rest."""
MAX_MEMORY: Final = 100.0
"""KiB of both processes for each window."""
MAX_IDLE: Final = 5.0
"""Per cent of a core, more than before."""
_PATIENCE: Final = 600.0

job, pipeline, stage = table_of(Job), table_of(Pipeline), table_of(Stage)


def rows(options: Options) -> list[Row]:
    """Measure once."""
    found = asyncio.run(measure(options))
    name = f"windows: {NUMBER} open"
    return [
        Row(f"{name}: opened, until the last waits", NUMBER / found["seconds"], "windows/s"),
        Row(f"{name}: started faster than opened, left when the last was started", found["behind"], "windows"),
        Row(f"{name}: from the last opened to rest, two samples of {SAMPLE:.0f} s", found["settling"], "s"),
        Row(f"{name}: memory of temporal", found["temporal_memory"] / NUMBER, "KiB/window"),
        Row(f"{name}: memory of our process", found["api_memory"] / NUMBER, "KiB/window"),
        Row(
            f"{name}: memory of both",
            (found["temporal_memory"] + found["api_memory"]) / NUMBER,
            "KiB/window",
            MAX_MEMORY,
            Side.AT_MOST,
        ),
        Row(f"{name}: idle, temporal", found["temporal_idle"], "% of a core"),
        Row(f"{name}: idle, our process", found["api_idle"], "% of a core"),
        Row(f"{name}: idle, more than without", found["more"], "% of a core", MAX_IDLE, Side.AT_MOST),
        Row(f"{name}: a look at what is at work, median of {LOOKS}", found["look"] * 1_000, "ms"),
        Row(f"{name}: from a signal to the job offered, median of {RETRIES}", found["retry"] * 1_000, "ms"),
        Row(f"{name}: from a signal to the job offered, slowest of {RETRIES}", found["slowest"] * 1_000, "ms"),
    ]


async def measure(options: Options) -> dict[str, float]:
    """Open the windows on a stack of their own, and look."""
    times = TimeLimits(retry_window=timedelta(days=1).total_seconds())
    async with running(front=False, worker=WORKER, has_api=False, times=times) as servers:
        await warm_up(servers, options)
        await _at_rest(servers)
        memory, before = _memory(servers), await _idle(servers)
        database = Database(servers.settings.database)
        try:
            async with database.write() as connection:
                ids = await _copies(connection)
            client = await Client.connect(servers.settings.temporal, data_converter=data_converter)
            workflows = Pipelines(client, servers.settings.queue)
            begun = time.monotonic()
            await _start(database, workflows, ids)
            behind = NUMBER - await _open(client)
            await _until_open(client)
            opened = time.monotonic()
            await _at_rest(servers)
            settling = time.monotonic() - opened
            grown = {name: value - memory[name] for name, value in _memory(servers).items()}
            after = await _idle(servers)
            look = await _look(workflows)
            retries = await _retry(database, workflows, ids[:: len(ids) // RETRIES])
        finally:
            await database.close()
    return {
        "seconds": opened - begun,
        "behind": behind,
        "settling": settling,
        "more": sum(after.values()) - sum(before.values()),
        "look": look,
        "retry": statistics.median(retries),
        "slowest": max(retries),
        **{f"{name}_memory": value for name, value in grown.items()},
        **{f"{name}_idle": value for name, value in after.items()},
    }


def _memory(servers: Servers) -> dict[str, float]:
    """KiB in use now, by process, with its children."""
    return {
        name: sum(each.memory_info().rss for each in (process, *process.children(recursive=True))) / 1024
        for name, process in servers.processes.items()
    }


async def _at_rest(servers: Servers) -> None:
    """Wait until two samples of the processor time in a row are the same: nothing is left of what went before."""
    last = None
    async with asyncio.timeout(_PATIENCE):
        while True:
            spent = sum((await _idle(servers, SAMPLE)).values())
            if last is not None and abs(spent - last) <= STEADY:
                return
            last = spent


async def _idle(servers: Servers, seconds: float = IDLE) -> dict[str, float]:
    """Per cent of a core, by process, while nothing happens."""
    begun = servers.cpu()
    await asyncio.sleep(seconds)
    return {name: (spent - begun[name]) / seconds * 100 for name, spent in servers.cpu().items()}


async def _copies(connection: AsyncConnection) -> list[int]:
    """As many pipelines as are wanted, each of one job that has failed just now; their ids."""
    of_model = select(pipeline).order_by(pipeline.c.id.desc()).limit(1)
    model = (await connection.execute(of_model)).mappings().one()
    of_stage = select(stage).where(stage.c.pipeline_id == model["id"]).limit(1)
    its_stage = (await connection.execute(of_stage)).mappings().one()
    of_job = select(job).where(job.c.pipeline_id == model["id"]).limit(1)
    its_job = (await connection.execute(of_job)).mappings().one()
    last = {
        table: (await connection.execute(select(table.c.id).order_by(table.c.id.desc()).limit(1))).scalar_one()
        for table in (pipeline, stage, job)
    }
    failed = {"status": "failed", "finished_at": system_clock()}
    numbers = range(1, NUMBER + 1)
    made: dict[Any, list[dict[str, Any]]] = {pipeline: [], stage: [], job: []}
    for number in numbers:
        ids = {table: first + number for table, first in last.items()}
        made[pipeline].append({**model, **failed, "id": ids[pipeline], "iid": model["iid"] + number})
        made[stage].append({**its_stage, "id": ids[stage], "pipeline_id": ids[pipeline], "status": "failed"})
        made[job].append(
            {
                **its_job,
                **failed,
                "id": ids[job],
                "first_id": ids[job],
                "pipeline_id": ids[pipeline],
                "stage_id": ids[stage],
                "failure_reason": "script_failure",
                "folded": True,
            }
        )
    for table, copies in made.items():
        known = {column.name for column in table.columns}
        await connection.execute(insert(table), [{key: row[key] for key in row if key in known} for row in copies])
    return [last[pipeline] + number for number in numbers]


async def _start(database: Database, workflows: Pipelines, ids: Sequence[int]) -> None:
    for first in range(0, len(ids), MAX_CONCURRENT):
        batch = ids[first : first + MAX_CONCURRENT]
        async with database.read() as connection:
            facts = await pipelines.facts_of(connection, batch)
        await asyncio.gather(*(_begin(workflows, facts[each]) for each in batch))
        if first % 1_000 == 0:
            print(f"windows: {first + len(batch)} of {len(ids)}", file=sys.stderr)


async def _begin(workflows: Pipelines, facts: PipelineFacts) -> None:
    """As the relay does it: until Temporal has taken it; shown as one at work until the workflow says otherwise."""
    at_work = replace(facts, status=Status.RUNNING)
    while True:
        try:
            await workflows.start(at_work)
        except WorkflowAlreadyStartedError:
            return
        except RPCError:
            await asyncio.sleep(1)
        else:
            return


async def _open(client: Client) -> int:
    """How many workflows have said that they wait for nothing but a retry; they have their timer then."""
    query = 'WorkflowType = "Pipeline" AND ExecutionStatus = "Running" AND CiStatus = "failed"'
    return (await client.count_workflows(query)).count


async def _until_open(client: Client) -> None:
    async with asyncio.timeout(_PATIENCE):
        while True:
            with suppress(RPCError):  # busy
                if await _open(client) >= NUMBER:
                    return
            await asyncio.sleep(0.5)


async def _look(workflows: Pipelines) -> float:
    """Seconds that the reconciler's question takes, which it asks every 20 s while any pipeline is at work."""
    took = []
    for _ in range(LOOKS):
        begun = time.monotonic()
        await workflows.runs.at_work()
        took.append(time.monotonic() - begun)
    return statistics.median(took)


async def _retry(database: Database, workflows: Pipelines, ids: Sequence[int]) -> list[float]:
    """Seconds from each signal until the new attempt is pending."""
    took = []
    async with asyncio.timeout(_PATIENCE):
        for pipeline_id in ids:
            begun = time.monotonic()
            await workflows.handle(pipeline_id).signal("retry_pipeline")
            offered = select(job.c.id).where(job.c.pipeline_id == pipeline_id, job.c.status == "pending")
            while True:
                async with database.read() as connection:
                    if (await connection.execute(offered)).first() is not None:
                        break
                await asyncio.sleep(0.005)
            took.append(time.monotonic() - begun)
    return took
