"""What runners, the clock and people do to pipelines of the product, by SQL and by Temporal."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any, Final
from uuid import uuid4

from sqlalchemy import Row, select, update
from temporalio.client import WorkflowUpdateFailedError

from domain.pipelines.status import Status
from models.columns import table_of
from models.repositories.pipelines import outbox
from models.repositories.projects import projects
from models.repositories.queue import demands
from models.tables.queue import QueueEntry
from tests.cases.engine import COMMANDS
from tests.models.world import World, job, pipeline
from tests.oracle.events import Event
from tests.workflows.pod import Pod

entry = table_of(QueueEntry)


async def fact(world: World, row: Row[Any], event: Event) -> bool:
    """Let an event that no person asks for happen to a job; whether it was accepted."""
    return await _FACTS[event.kind](world, row, event)


async def command(pod: Pod, pipeline_id: int, event: Event, job_id: int | None) -> bool:
    """Whether it was accepted; a pipeline that does not want it is as good as one that does nothing."""
    try:
        await pod.ask_again(pipeline_id, COMMANDS[event.kind], job_id)
    except WorkflowUpdateFailedError:
        return not event.job
    return True


async def _run(world: World, row: Row[Any], event: Event) -> bool:
    """A runner takes this very job: nobody else may be given it, and nothing else be given to that runner."""
    if row.status != Status.PENDING:
        return False
    tag = f"only-{row.id}"
    async with world.database.write() as connection:
        owner = await projects.find(connection, row.project_id)
        assert owner is not None
        protected = (
            await connection.execute(select(pipeline.c.ref_protected).where(pipeline.c.id == row.pipeline_id))
        ).scalar_one()
        (alone,) = (await demands.ensure(connection, owner, [[tag]], protected=protected)).values()
        await connection.execute(update(entry).where(entry.c.job_id == row.id).values(demand_id=alone))
    taken = await world.take_as_new([tag], graceful=event.graceful)
    assert taken in {None, row.id}
    return taken is not None


async def _end(world: World, row: Row[Any], event: Event) -> bool:
    failed = event.kind == "drop"
    ended = await world.end(
        row.id,
        Status.FAILED if failed else Status.SUCCESS,
        reason=event.reason if failed else "",
        exit_code=event.code if failed else 0,
    )
    return ended == [row.id]


async def _become_due(world: World, row: Row[Any], _: Event) -> bool:
    """The clock of the test: rewrite the time, and have SQL read again."""
    past = world.now() - timedelta(hours=2)
    scheduled = update(job).where(job.c.id == row.id, job.c.status == Status.SCHEDULED).values(due_at=past)
    payload = {"name": "reconcile", "key": str(uuid4())}
    async with world.database.write() as connection:
        await connection.execute(scheduled)
        await outbox.put(connection, outbox.COMMAND, row.pipeline_id, world.now(), payload=payload)
    return True


_FACTS: Final[dict[str, Callable[[World, Row[Any], Event], Awaitable[bool]]]] = {
    "run": _run,
    "due": _become_due,
    "success": _end,
    "drop": _end,
}
