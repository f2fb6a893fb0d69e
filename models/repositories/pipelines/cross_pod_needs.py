"""Jobs that need artifacts of other pods: out of the queue until those have answered, and what they answered."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from sqlalchemy import delete, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.pipelines.status import Status
from models.columns import table_of
from models.repositories.pipelines import outbox
from models.repositories.pipelines.job_rows import enqueue_again, job, lock, queue_entry
from models.rows.cross_pod import CrossPodNeedRow
from models.tables.cross_pod import CrossPodNeed
from models.typed_rows import first_of

need = table_of(CrossPodNeed)


async def answer_to(connection: AsyncConnection, job_id: int, position: int) -> CrossPodNeedRow | None:
    """What another pod has answered to a need of a job."""
    statement = select(need).where(need.c.job_id == job_id, need.c.position == position)
    return first_of(CrossPodNeedRow, await connection.execute(statement))


async def leave_queue(connection: AsyncConnection, job_id: int, now: datetime) -> None:
    """No runner sees a pending job until other pods have answered; somebody else may have taken it out already."""
    await lock(connection, [job_id])
    left = await connection.execute(
        delete(queue_entry).where(queue_entry.c.job_id == job_id).returning(queue_entry.c.job_id)
    )
    if left.first() is None:
        return
    pipeline_id = (await connection.execute(select(job.c.pipeline_id).where(job.c.id == job_id))).scalar_one()
    await outbox.put(connection, outbox.NEEDS_ELSEWHERE, pipeline_id, now, job_ids=[job_id])


async def return_to_queue(connection: AsyncConnection, job_id: int, answers: Iterable[CrossPodNeedRow]) -> bool:
    """Keep what was answered, and let runners see the job; whether it still waited."""
    statement = (
        select(job.c.id).where(job.c.id == job_id, job.c.status == Status.PENDING).with_for_update(key_share=True)
    )
    if (await connection.execute(statement)).first() is None:
        return False
    await connection.execute(delete(need).where(need.c.job_id == job_id))
    for row in answers:
        values: dict[str, Any] = {name: getattr(row, name) for name in need.c.keys()}  # noqa: SIM118  # a collection
        await connection.execute(insert(need).values(**values))
    await enqueue_again(connection, job_id)
    return True
