"""Statuses of stages and pipelines in SQL, folded from the rows of their jobs.

Lock order: jobs by id, stages, pipeline. Whoever folds holds the stages, so that no claim slips in between.

Source: docs/reference/pipelines.md, "Composite status".
"""

from collections.abc import Collection
from typing import Final

from sqlalchemy import bindparam, func, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.pipelines.status import Status, composite
from models.columns import table_of
from models.repositories.pipelines.job_rows import job
from models.tables.pipelines import Stage

stage = table_of(Stage)

_STAGES: Final = (
    select(stage.c.id, stage.c.position, stage.c.status)
    .where(stage.c.pipeline_id == bindparam("b_pipeline"))
    .order_by(stage.c.id)
    .with_for_update()
)
_LOCK: Final = (
    select(stage.c.id)
    .where(stage.c.pipeline_id.in_(bindparam("b_pipelines", expanding=True)))
    .order_by(stage.c.id)
    .with_for_update()
)
COUNTS: Final = or_(~job.c.retried, job.c.status == Status.CANCELING)
"""The rows that are folded: the latest attempts, and earlier ones that still stop."""
_COUNTED: Final = (
    select(job.c.stage_position, job.c.status, job.c.allow_failure, job.c.folded, func.count())
    .where(job.c.pipeline_id == bindparam("b_pipeline"), COUNTS)
    .group_by(job.c.stage_position, job.c.status, job.c.allow_failure, job.c.folded)
)
_SET_STAGE: Final = update(stage).where(stage.c.id == bindparam("b_stage")).values(status=bindparam("b_status"))


def counts_as(status: str, *, folded: bool) -> Status:
    """A verdict that is not folded counts as running, so that an automatic retry hides its failure.

    A canceled job is never retried by itself: there is nothing to hide.
    """
    return Status(status) if folded or status == Status.CANCELED else Status.RUNNING


async def lock_stages(connection: AsyncConnection, pipeline_ids: Collection[int]) -> None:
    """Hold the stages of several pipelines, in the order in which everybody does."""
    await connection.execute(_LOCK, {"b_pipelines": sorted(pipeline_ids)})


async def fold_stages(connection: AsyncConnection, pipeline_id: int) -> Status:
    """Write what the stages of a pipeline fold into, `created` keeps what a stage was; what the whole folds into."""
    values = {"b_pipeline": pipeline_id}
    stages = (await connection.execute(_STAGES, values)).all()
    counted = await connection.execute(_COUNTED, values)
    counts = [(position, counts_as(status, folded=folded), allowed) for position, status, allowed, folded, _ in counted]
    for stage_id, place, before in stages:
        result = composite((status, allowed) for position, status, allowed in counts if position == place)
        if result not in {Status.CREATED, before}:
            await connection.execute(_SET_STAGE, {"b_stage": stage_id, "b_status": str(result)})
    return composite((status, allowed) for _, status, allowed in counts)
