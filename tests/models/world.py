"""A project whose pipelines a test plays by hand: it is the workflow, the relay and every runner."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from textwrap import dedent
from typing import Any, Self
from uuid import uuid4

from sqlalchemy import Table, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.messages import Command, Decision, Loaded, Recorded
from domain.pipelines.decisions import Turn, decide
from domain.pipelines.status import Status
from domain.pipelines.verdict import Verdict
from domain.sealed_documents import Change
from models.columns import table_of
from models.repositories.accounts import accounts
from models.repositories.namespaces import namespaces
from models.repositories.pipelines import decisions, loading, pipelines, verdicts
from models.repositories.projects import projects
from models.repositories.queue import claims, hand_outs, held_jobs
from models.repositories.queue.claims import Claim
from models.repositories.runners import runners
from models.session import Database
from models.tables.outbox import Outbox
from models.tables.pipelines import Job, Pipeline, Stage
from tests.compiling import plan_of

BEGIN = datetime(2026, 1, 1, 12, tzinfo=UTC)

job = table_of(Job)
pipeline = table_of(Pipeline)
stage = table_of(Stage)
outbox_table = table_of(Outbox)

TWO_STAGES = """
    stages: [build, test]
    build: {stage: build, script: make}
    test: {stage: test, script: make test}
"""


@dataclass
class World:
    """One project and one runner in a database; time goes on by a second with each look at the clock."""

    database: Database
    project_id: int
    user_id: int
    runner_id: int
    run: int = 1
    seconds: int = 0
    ticks: Any = field(default_factory=lambda: count(1))

    @classmethod
    async def make(cls, database: Database) -> Self:
        """Write the project, its owner and the runner."""
        async with database.write() as connection:
            user_id = await accounts.create_user(connection, "ada", "Ada", "ada@example.com", BEGIN)
            await namespaces.create(connection, "acme", "Acme", BEGIN)
            owner = await namespaces.get_by(connection, path="acme")
            project_id = await projects.create_project(connection, owner, "tool", "Tool", user_id, BEGIN)
            runner_id = await runners.create(connection, "hash", BEGIN)
        return cls(database, project_id, user_id, runner_id)

    def now(self) -> datetime:
        """A later moment than the last one."""
        self.seconds += 1
        return BEGIN + timedelta(seconds=self.seconds)

    async def create(self, config: str = TWO_STAGES, ref: str = "main", *, seal: Change = str, **values: Any) -> int:
        """Create a pipeline of a configuration; nothing is decided about it yet."""
        request = pipelines.PipelineRequest(
            self.project_id, self.user_id, ref, "c0ffee", "push", ref_protected=ref == "main", **values
        )
        async with self.database.write() as connection:
            return await pipelines.create(connection, request, plan_of(dedent(config)), self.now(), seal=seal)

    async def begin(self, config: str = TWO_STAGES) -> int:
        """Create a pipeline and record what follows at once."""
        pipeline_id = await self.create(config)
        await self.settle(pipeline_id)
        return pipeline_id

    async def load(self, pipeline_id: int) -> Loaded:
        """What a workflow would load."""
        async with self.database.read() as connection:
            return await loading.load(connection, pipeline_id)

    async def decision(
        self, pipeline_id: int, *commands: Command, verdicts: tuple[Verdict, ...] | None = None
    ) -> Decision | None:
        """What a workflow would decide now; numbered, not recorded."""
        found = (await self._look(pipeline_id, commands, verdicts)).decision
        return found and self.numbered(found)

    async def _look(
        self, pipeline_id: int, commands: tuple[Command, ...], verdicts: tuple[Verdict, ...] | None = None
    ) -> Turn:
        loaded = await self.load(pipeline_id)
        return decide(loaded.pipeline, loaded.verdicts if verdicts is None else verdicts, commands, self.now())

    def numbered(self, decision: Decision) -> Decision:
        """The decision as the next one of this run."""
        return replace(decision, run=self.run, tick=next(self.ticks))

    async def record(self, decision: Decision) -> Recorded:
        """Record a decision, or get the rows as they are if it is stale."""
        return (await decisions.record_or_read(self.database, decision, self.now())).recorded

    async def turn(self, pipeline_id: int, *commands: Command) -> Recorded:
        """Decide and record once; there must be something to decide."""
        decision = await self.decision(pipeline_id, *commands)
        assert decision is not None
        return await self.record(decision)

    async def settle(self, pipeline_id: int, *commands: Command) -> None:
        """Decide and record until nothing follows."""
        while (turn := await self._look(pipeline_id, commands)).decision is not None:
            commands = turn.waiting
            await self.record(self.numbered(turn.decision))

    def runner(self, **values: Any) -> Claim:
        """The runner as it asks for a job."""
        return Claim(**{"runner_id": self.runner_id, "system_id": "s_1", **values})

    async def set_runner(self, **values: Any) -> None:
        """Write columns of the runner."""
        async with self.database.write() as connection:
            await runners.change(connection, self.runner_id, **values)

    async def claim(self, **values: Any) -> tuple[int, int] | None:
        """Ask for a job: (id, hand-out) or None."""
        async with self.database.write() as connection:
            return await hand_out(connection, self.runner(**values), self.now())

    async def take(self, **values: Any) -> int:
        """Take a job that must be there, and call for it; its id."""
        taken = await self.claim(**values)
        assert taken is not None
        async with self.database.write() as connection:
            assert await touch(connection, *taken)
        return taken[0]

    async def take_as_new(self, tags: Sequence[str], *, graceful: bool) -> int | None:
        """A new runner that has only these tags takes a job, if there is one for it, and calls for it; its id."""
        async with self.database.write() as connection:
            values = {"tags": list(tags), "run_untagged": False}
            runner_id = await runners.create(connection, str(uuid4()), self.now(), **values)
            claim = self.runner(runner_id=runner_id, cancel_gracefully=graceful)
            taken = await hand_out(connection, claim, self.now())
            if taken is None:
                return None
            assert await touch(connection, *taken)
        return taken[0]

    async def end(self, job_id: int, status: Status = Status.SUCCESS, **values: Any) -> list[int]:
        """A verdict of a runner."""
        async with self.database.write() as connection:
            return await verdicts.end_jobs(connection, [job_id], status, self.now(), **values)

    async def rows(self, table: Table, **equal: Any) -> Sequence[Any]:
        """Rows of a table by equality of columns, in the order of their keys."""
        statement = select(table).order_by(*table.primary_key)
        for name, value in equal.items():
            statement = statement.where(table.c[name] == value)
        async with self.database.read() as connection:
            return (await connection.execute(statement)).all()

    async def row(self, table: Table, **equal: Any) -> Any:
        """The one row."""
        (found,) = await self.rows(table, **equal)
        return found

    async def statuses(self, pipeline_id: int) -> dict[str, str]:
        """Name to status of the latest attempts."""
        return {row.name: row.status for row in await self.rows(job, pipeline_id=pipeline_id, retried=False)}

    async def stages(self, pipeline_id: int) -> dict[str, str]:
        """Name to status of the stages."""
        return {row.name: row.status for row in await self.rows(stage, pipeline_id=pipeline_id)}

    async def status(self, pipeline_id: int) -> str:
        """The pipeline's status."""
        return str((await self.row(pipeline, id=pipeline_id)).status)

    async def outbox(self, pipeline_id: int, kind: str) -> Sequence[Any]:
        """What is still to be told to Temporal."""
        return await self.rows(outbox_table, pipeline_id=pipeline_id, kind=kind)


async def hand_out(connection: AsyncConnection, claim: Claim, now: datetime) -> tuple[int, int] | None:
    """Claim a job as the route does: (id, hand-out) or None."""
    (job_id,) = await claims.take(connection, [claim], now)
    if job_id is None:
        return None
    taken = await hand_outs.read(connection, [job_id])
    await claims.lift(connection, taken.values(), now)
    return job_id, taken[job_id].job.hand_out


async def touch(connection: AsyncConnection, job_id: int, number: int) -> bool:
    """A call of the runner that was handed out a job: whether it still holds it."""
    row = await held_jobs.look(connection, job_id)
    if row is None or row.contact is None or row.hand_out != number:
        return False
    return await held_jobs.renew(connection, row)
