"""What stands for runners and gateway: writes the outcomes of offered jobs into SQL, as a process of its own.

    echo '{"home": ..., ...}' | python -m bench.outcomes

The question on standard input has the fields of `Order`, the response on standard output those of `Outcome`. Pipelines
are in SQL before the clock starts; then their outbox rows are released. Outcomes are written by the statements that the
API uses, many in one transaction; after each the server is woken, as the API would wake it in the same process. Nobody
claims: that is the gateway's work, not the engine's.
"""

import asyncio
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final

import uvloop
from sqlalchemy import Integer, bindparam, func, select, update

from bench.shapes import SHAPES
from domain.config.compile import compile_config
from domain.config.context import Context
from domain.config.plan import Plan
from domain.pipelines.status import COMPLETE, Status
from models.clock import system_clock
from models.columns import table_of
from models.repositories.accounts import accounts
from models.repositories.namespaces import namespaces
from models.repositories.pipelines import outbox, pipelines, verdicts
from models.repositories.projects import projects
from models.session import Database
from models.tables.outbox import Outbox
from models.tables.pipelines import Pipeline
from models.tables.queue import QueueEntry
from settings import Settings

_LOOK_EVERY: Final = 0.005
"""Seconds between two looks at an empty queue."""
_HELD: Final = timedelta(days=1)
_PUSH: Final = Context(predefined={"CI_PIPELINE_SOURCE": "push", "CI_COMMIT_BRANCH": "main"})

_outbox = table_of(Outbox)
_pipeline = table_of(Pipeline)
_queue_entry = table_of(QueueEntry)

_OFFERED: Final = (
    select(_queue_entry.c.job_id).order_by(_queue_entry.c.job_id).limit(bindparam("b_limit", type_=Integer))
)


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be done, and where."""

    home: str
    """The server's; its database is there."""
    bell: int
    """Port on which the server hears that there is something in the outbox."""
    shape: str
    """Name of a `bench.shapes.Shape`."""
    pipelines: int
    batch: int
    """At most so many jobs are ended in one transaction."""
    patience: float
    """Seconds after which a pipeline that does not end is an error."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Seconds from the release of the outbox rows to the last pipeline's `success`, and what belongs to them."""

    seconds: float
    cpu: float
    """Seconds of processor time of this process."""
    first: int
    """Id of the first pipeline."""


class Outcomes:
    """One run."""

    def __init__(self, order: Order, database: Database) -> None:
        """Carry out `order` in this database."""
        self._order = order
        self._database = database

    async def run(self) -> Outcome:
        """Create, release, play. Raises `RuntimeError` when it does not come to its end."""
        shape = SHAPES[self._order.shape]
        plan = compile_config(shape.configuration(), _PUSH)
        assert isinstance(plan, Plan), "it includes nothing"
        _, bell = await asyncio.open_connection("127.0.0.1", self._order.bell)
        project = await self._prepare()
        made = [await self._create(project, plan) for _ in range(self._order.pipelines)]
        begin, cpu = time.perf_counter(), time.process_time()
        await self._release(made)
        bell.write(b".")
        async with asyncio.timeout(self._order.patience):
            await self._play(len(made) * len(plan.jobs), bell)
            await self._until_complete(made)
        outcome = Outcome(time.perf_counter() - begin, time.process_time() - cpu, made[0])
        bell.close()
        return outcome

    async def _prepare(self) -> tuple[int, int]:
        """A project of this run, and its owner."""
        now = system_clock()
        name = f"bench-{time.time_ns()}"
        async with self._database.write() as connection:
            user = await accounts.create_user(connection, name, name, f"{name}@example.com", now)
            group = f"{name}-group"
            await namespaces.create(connection, group, group, now)
            owner = await namespaces.get_by(connection, path=group)
            return await projects.create_project(connection, owner, name, name, user, now), user

    async def _create(self, project: tuple[int, int], plan: Plan) -> int:
        """A pipeline that waits in the outbox."""
        now = system_clock()
        request = pipelines.PipelineRequest(*project, "main", "c0ffee", "push")
        async with self._database.write() as connection:
            made = await pipelines.create(connection, request, plan, now, seal=str)
            await connection.execute(
                update(_outbox).where(_outbox.c.pipeline_id == made).values(not_before=now + _HELD)
            )
        return made

    async def _release(self, made: Sequence[int]) -> None:
        async with self._database.write() as connection:
            start = update(_outbox).where(_outbox.c.pipeline_id.in_(made), _outbox.c.kind == outbox.START)
            await connection.execute(start.values(not_before=system_clock()))

    async def _play(self, jobs: int, bell: asyncio.StreamWriter) -> None:
        while jobs:
            async with self._database.read() as connection:
                offered = (await connection.execute(_OFFERED, {"b_limit": self._order.batch})).scalars().all()
            if not offered:
                await asyncio.sleep(_LOOK_EVERY)
                continue
            async with self._database.write() as connection:
                ended = await verdicts.end_jobs(connection, offered, Status.SUCCESS, system_clock(), vouched=True)
            jobs -= len(ended)
            bell.write(b".")

    async def _until_complete(self, made: Sequence[int]) -> None:
        by_status = (
            select(_pipeline.c.status, func.count().label("number"))
            .where(_pipeline.c.id.in_(made))
            .group_by(_pipeline.c.status)
        )
        while True:
            async with self._database.read() as connection:
                found = {row.status: row.number for row in (await connection.execute(by_status)).all()}
            if set(found) <= COMPLETE:
                break
            await asyncio.sleep(_LOOK_EVERY)
        if set(found) != {Status.SUCCESS}:
            raise RuntimeError(f"the pipelines ended as {found}")


async def _measure(order: Order) -> Outcome:
    database = Database(Settings(home=Path(order.home), database_url="").database)
    try:
        return await Outcomes(order, database).run()
    finally:
        await database.close()


def main() -> None:
    """Read the order, carry it out, print the outcome."""
    print(json.dumps(asdict(uvloop.run(_measure(Order(**json.load(sys.stdin)))))))


if __name__ == "__main__":
    main()
