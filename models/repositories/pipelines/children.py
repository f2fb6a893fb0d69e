"""Cancel going down: a canceled bridge, or a canceled pipeline, takes its child pipelines along.

Only children and their children, which are part of what was canceled; a pipeline of another project goes on
(docs/reference/pipelines.md, "Play, retry and cancel", "Downstream pipelines"). One between that cannot be canceled
itself, since its jobs have ended or already are being canceled, protects nothing below it.
"""

from datetime import datetime
from typing import Final

from sqlalchemy import bindparam, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.pipelines.bridges import CHILD
from domain.pipelines.status import COMPLETE
from models.columns import padded, table_of
from models.repositories.pipelines import outbox
from models.tables.pipelines import Pipeline

pipeline = table_of(Pipeline)

OF_UPSTREAM: Final = "upstream-"
"""What the keys of commands that came from above begin with."""

# Not recursive: SQLite would read all pipelines where no index of theirs has a row.
_BELOW: Final = select(pipeline.c.id, pipeline.c.status).where(
    pipeline.c.upstream_id.in_(bindparam("b_upstream", expanding=True)), pipeline.c.source == CHILD
)
_CHILD: Final = select(pipeline.c.status).where(
    pipeline.c.id == bindparam("b_child"),
    pipeline.c.upstream_id == bindparam("b_upstream"),
    pipeline.c.source == CHILD,
)


async def cancel_child_of(
    connection: AsyncConnection, bridge_id: int, pipeline_id: int, child_id: int, now: datetime
) -> None:
    """Ask the child pipeline of a bridge of a pipeline that was just canceled to cancel, and all that are below it."""
    values = {"b_upstream": pipeline_id, "b_child": child_id}
    status = (await connection.execute(_CHILD, values)).scalar()
    if status is None or status in COMPLETE:
        return
    reason = f"Trigger job {bridge_id} of the parent pipeline {pipeline_id} was canceled."
    key = f"{OF_UPSTREAM}{bridge_id}"
    await _cancel(connection, child_id, key, reason, now)
    await _cancel_below(connection, child_id, key, reason, now)


async def cancel_children(connection: AsyncConnection, pipeline_id: int, key: str, now: datetime) -> bool:
    """Ask all pipelines below a canceled one to cancel, also where a bridge or a pipeline between has ended.

    `key` is that of the command that canceled the pipeline; one that came from above is handed on as it is, so that
    who is asked by several hears it once. Gives back whether there were any.
    """
    key = key if key.startswith(OF_UPSTREAM) else f"{OF_UPSTREAM}{pipeline_id}-{key}"
    return await _cancel_below(connection, pipeline_id, key, f"The parent pipeline {pipeline_id} was canceled.", now)


async def _cancel_below(connection: AsyncConnection, pipeline_id: int, key: str, reason: str, now: datetime) -> bool:
    above, ids = [pipeline_id], list[int]()
    while above:
        rows = (await connection.execute(_BELOW, {"b_upstream": padded(above)})).all()
        above = [row.id for row in rows]
        ids += [row.id for row in rows if row.status not in COMPLETE]
    for descendant_id in sorted(ids):
        await _cancel(connection, descendant_id, key, reason, now)
    return bool(ids)


async def _cancel(connection: AsyncConnection, pipeline_id: int, key: str, reason: str, now: datetime) -> None:
    payload = {"name": "cancel_pipeline", "key": key, "reason": reason}
    await outbox.put(connection, outbox.COMMAND, pipeline_id, now, payload=payload)
