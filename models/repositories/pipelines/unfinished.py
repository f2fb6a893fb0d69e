"""What the reconciler compares with Temporal: pipelines that have not ended, and outcomes that nobody has folded."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import bindparam, exists, func, select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from models.columns import Moment, table_of
from models.repositories.installation.installations import HELD
from models.repositories.pipelines.outbox import OUTCOME, START
from models.tables.outbox import Outbox
from models.tables.pipelines import OPEN_PIPELINE, Pipeline

PAGE: Final = 1_000
"""So many pipelines are read at once."""

pipeline = table_of(Pipeline)
outbox = table_of(Outbox)

_YOUNG: Final = bindparam("b_before", type_=Moment()), bindparam("b_future", type_=Moment())
"""Between these it is young; what is later than both was written before the clock was set back, so it is old."""
_FUTURE: Final = timedelta(hours=1)
"""Longer than the time between two looks."""

_PAGE: Final = (
    select(pipeline.c.id)
    .where(
        text(OPEN_PIPELINE),
        ~pipeline.c.created_at.between(*_YOUNG),
        pipeline.c.id > bindparam("b_after"),
        pipeline.c.id > HELD,
        ~exists().where(outbox.c.pipeline_id == pipeline.c.id, outbox.c.kind == START),
    )
    .order_by(pipeline.c.id)
    .limit(PAGE)
)
_UNFOLDED: Final = (
    select(outbox.c.pipeline_id, func.max(outbox.c.id).label("newest"))
    .where(outbox.c.kind == OUTCOME, ~outbox.c.sent_at.between(*_YOUNG), outbox.c.pipeline_id > HELD)
    .group_by(outbox.c.pipeline_id)
)


def _young(before: datetime) -> dict[str, datetime]:
    return {"b_before": before, "b_future": before + _FUTURE}


async def page(connection: AsyncConnection, before: datetime, after: int = 0) -> Sequence[int]:
    """Pipelines that have not ended and whose workflow was started before `before`: the first `PAGE` after an id.

    One whose start is still in the outbox is not among them: it needs nobody else to start it.
    """
    rows = await connection.execute(_PAGE, {**_young(before), "b_after": after})
    found: Sequence[int] = rows.scalars().all()
    return found


async def all_after(connection: AsyncConnection, after: int) -> Sequence[int]:
    """Every pipeline that has something left to do: the first `PAGE` after an id.

    Also one whose start is still in the outbox, and one that is complete but for an outcome that nobody has folded.
    """
    is_later = pipeline.c.id > after, pipeline.c.id > HELD
    live = select(pipeline.c.id).where(text(OPEN_PIPELINE), *is_later)
    unfolded_outcome = select(outbox.c.pipeline_id).where(outbox.c.kind == OUTCOME)
    unfolded = select(pipeline.c.id).where(pipeline.c.id.in_(unfolded_outcome), *is_later)
    page_of = live.union(unfolded).order_by("id").limit(PAGE)
    found: Sequence[int] = (await connection.execute(page_of)).scalars().all()
    return found


async def unfolded(connection: AsyncConnection, before: datetime) -> dict[int, int]:
    """Pipelines with an outcome that Temporal took before `before` and that no decision has recorded.

    The value is the id of the newest such outbox row: a higher one later means that there is another outcome.
    """
    rows = await connection.execute(_UNFOLDED, _young(before))
    return {row.pipeline_id: row.newest for row in rows}
