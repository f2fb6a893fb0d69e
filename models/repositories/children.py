"""Cancel going down: a canceled bridge, or a canceled pipeline, takes its child pipelines along.

Only children, which are part of what was canceled; a pipeline of another project goes on (reference: CI YAML, sections
11 and 13).
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from sqlalchemy import bindparam, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.bridges import CHILD
from domain.status import COMPLETE
from models.columns import Record, table_of
from models.pipelines import Pipeline
from models.repositories import outbox

pipeline = table_of(Pipeline)

_RUNNING_CHILDREN: Final = select(pipeline.c.id).where(
    pipeline.c.upstream_id == bindparam("b_upstream"),
    pipeline.c.source == CHILD,
    *(pipeline.c.status != status for status in sorted(COMPLETE)),
)
_RUNNING_CHILD: Final = _RUNNING_CHILDREN.where(pipeline.c.id == bindparam("b_child"))


async def cancel_child_of(connection: AsyncConnection, bridge: Record, now: datetime) -> None:
    """Ask the child pipeline of a bridge that was just canceled to cancel, too.

    `bridge` has the columns `completions.COLUMNS`.
    """
    values = {"b_upstream": bridge.pipeline_id, "b_child": bridge.downstream_id}
    if (await connection.execute(_RUNNING_CHILD, values)).first() is not None:
        reason = f"Trigger job {bridge.id} of the parent pipeline {bridge.pipeline_id} was canceled."
        await _cancel(connection, bridge.downstream_id, f"upstream-{bridge.id}", reason, now)


async def cancel_children(connection: AsyncConnection, pipeline_id: int, key: str, now: datetime) -> Sequence[int]:
    """Ask all child pipelines of a canceled pipeline to cancel, also where the bridge has ended; give back their ids.

    `key` is that of the command that canceled the pipeline.
    """
    ids = list((await connection.execute(_RUNNING_CHILDREN, {"b_upstream": pipeline_id})).scalars())
    for child_id in ids:
        reason = f"The parent pipeline {pipeline_id} was canceled."
        await _cancel(connection, child_id, f"upstream-{pipeline_id}-{key}", reason, now)
    return ids


async def _cancel(connection: AsyncConnection, pipeline_id: int, key: str, reason: str, now: datetime) -> None:
    payload = {"name": "cancel_pipeline", "key": key, "reason": reason}
    await outbox.put(connection, outbox.COMMAND, pipeline_id, now, payload=payload)
