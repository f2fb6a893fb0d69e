"""Subscriptions to other projects, and the pipelines that are to be made for them."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Select, bindparam, delete, exists, func, insert, literal, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.bridges import CHILD
from domain.errors import Invalid, NotFound
from models.columns import Record, table_of
from models.pipelines import Pipeline
from models.subscriptions import PipelineSubscription, SubscribedRun
from models.tables import Project

subscription = table_of(PipelineSubscription)
run = table_of(SubscribedRun)
pipeline = table_of(Pipeline)
project = table_of(Project)

MOST: Final = 2
"""Upstream projects of one, and projects that follow one; as in GitLab."""
_LONGEST_PAUSE: Final = timedelta(minutes=5)


def of_project(project_id: int) -> Select[Any]:
    """Statement for the subscriptions of a project, with the `upstream_path` of each."""
    return (
        select(subscription, project.c.full_path.label("upstream_path"))
        .join(project, project.c.id == subscription.c.upstream_project_id)
        .where(subscription.c.project_id == project_id)
        .order_by(subscription.c.id)
    )


async def get(connection: AsyncConnection, subscription_id: int, project_id: int) -> Record:
    """A subscription of a project. Raises `NotFound`."""
    row = (await connection.execute(of_project(project_id).where(subscription.c.id == subscription_id))).first()
    if row is None:
        raise NotFound("404 Subscription Not Found")
    return row


async def add(connection: AsyncConnection, project_id: int, upstream_id: int, user_id: int, now: datetime) -> int:
    """Let a project follow another one. Raises `Invalid` if it does already, or when there are too many."""
    both = [project_id, upstream_id]
    # Held to the end, so that two who count at once do not both find room.
    await connection.execute(
        select(project.c.id).where(project.c.id.in_(both)).order_by(project.c.id).with_for_update()
    )
    rule = (subscription.c.project_id == project_id) & (subscription.c.upstream_project_id == upstream_id)
    if (await connection.execute(select(subscription.c.id).where(rule))).first() is not None:
        raise Invalid("upstream_project has already been taken: this project follows it already.")
    for column, value, what in (
        (subscription.c.project_id, project_id, "upstream"),
        (subscription.c.upstream_project_id, upstream_id, "downstream"),
    ):
        living = select(func.count()).where(column == value, subscription.c.upstream_project_id.is_not(None))
        if (await connection.execute(living)).scalar_one() >= MOST:
            raise Invalid(f"Maximum number of {what} subscriptions ({MOST}) exceeded; remove one first.")
    values = {"project_id": project_id, "upstream_project_id": upstream_id, "user_id": user_id, "created_at": now}
    made: int = (
        await connection.execute(insert(subscription).values(**values).returning(subscription.c.id))
    ).scalar_one()
    return made


async def remove(connection: AsyncConnection, subscription_id: int) -> None:
    """Follow no more."""
    await connection.execute(delete(subscription).where(subscription.c.id == subscription_id))


_COLUMNS: Final = ("project_id", "upstream_id", "user_id", "error", "attempts", "created_at", "not_before")
_now: Any = bindparam("b_now", type_=run.c.created_at.type)
_NOTE: Final = insert(run).from_select(
    _COLUMNS,
    select(subscription.c.project_id, pipeline.c.id, subscription.c.user_id, literal(""), literal(0), _now, _now)
    .select_from(pipeline.join(subscription, subscription.c.upstream_project_id == pipeline.c.project_id))
    .where(pipeline.c.id == bindparam("b_pipeline"), pipeline.c.tag, pipeline.c.source != CHILD)
    .where(~exists().where(run.c.project_id == subscription.c.project_id, run.c.upstream_id == pipeline.c.id)),
)


async def note_success(connection: AsyncConnection, pipeline_id: int, now: datetime) -> None:
    """A pipeline has succeeded: if it is of a tag, every project that follows its project gets a run, once."""
    await connection.execute(_NOTE, {"b_pipeline": pipeline_id, "b_now": now})


async def hold_due(connection: AsyncConnection, now: datetime, until: datetime, limit: int) -> Sequence[Record]:
    """Runs that are due and that nobody holds; they are left alone by others until `until`."""
    statement = (
        select(run)
        .where(run.c.done_at.is_(None), run.c.not_before <= now)
        .order_by(run.c.id)
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    rows = (await connection.execute(statement)).all()
    if rows:
        ids = [row.id for row in rows]
        await connection.execute(update(run).where(run.c.id.in_(ids)).values(not_before=until))
    return rows


async def is_due(connection: AsyncConnection, now: datetime) -> bool:
    """Whether there is anything to hold."""
    statement = select(run.c.id).where(run.c.done_at.is_(None), run.c.not_before <= now).limit(1)
    return (await connection.execute(statement)).first() is not None


async def finish(connection: AsyncConnection, run_id: int, now: datetime) -> bool:
    """Take a run, in the transaction that makes its pipeline; false if that has been done."""
    statement = update(run).where(run.c.id == run_id, run.c.done_at.is_(None)).values(done_at=now)
    return bool((await connection.execute(statement)).rowcount)


async def tell(connection: AsyncConnection, run_id: int, *, pipeline_id: int | None = None, error: str = "") -> None:
    """Write down what became of a run."""
    values = {"pipeline_id": pipeline_id, "error": error[:1000]}
    await connection.execute(update(run).where(run.c.id == run_id).values(**values))


async def back_off(connection: AsyncConnection, row: Record, error: str, now: datetime) -> None:
    """Try a run again later: after 1 s, 2 s ... 5 minutes."""
    pause = min(timedelta(seconds=2 ** min(row.attempts, 10)), _LONGEST_PAUSE)
    values = {"attempts": row.attempts + 1, "error": error[:1000], "not_before": now + pause}
    await connection.execute(update(run).where(run.c.id == row.id, run.c.done_at.is_(None)).values(**values))
