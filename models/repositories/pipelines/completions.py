"""What the end of a job means to others than its own pipeline; called wherever a job row becomes complete."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy.ext.asyncio import AsyncConnection

from domain.pipelines.status import Status
from models.repositories.environments import environment_lifecycle
from models.repositories.hooks import webhook_events
from models.repositories.pipelines import outbox
from models.repositories.pipelines.children import cancel_child_of
from models.repositories.pipelines.job_rows import job
from models.rows.pipelines import EndedJobRow

COLUMNS = (
    job.c.id,
    job.c.pipeline_id,
    job.c.project_id,
    job.c.status,
    job.c.bridge,
    job.c.downstream_id,
    job.c.resource_group_id,
    job.c.environment_id,
    job.c.environment_action,
    webhook_events.WATCHED,
)
"""What a statement that completes jobs must give back of each (`EndedJobRow`)."""


async def ended(connection: AsyncConnection, rows: Sequence[EndedJobRow], now: datetime) -> None:
    """These rows have just become complete."""
    for row in rows:
        if row.resource_group_id is not None:
            await outbox.put(connection, outbox.GROUP, row.pipeline_id, now, payload={"group": row.resource_group_id})
        if row.bridge and row.downstream_id is not None and row.status == Status.CANCELED:
            await cancel_child_of(connection, row.id, row.pipeline_id, row.downstream_id, now)
    await environment_lifecycle.after_jobs(connection, rows, now)
