"""Subscriptions to other projects, and the pipelines that are to be made for them."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import bindparam, delete, exists, func, insert, literal, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.errors import Invalid, NotFound
from domain.pipelines.bridges import CHILD
from models.columns import table_of
from models.repositories.paging import Listing
from models.repositories.pipelines.pipeline_requests import OwedPipelines
from models.rows.subscriptions import PipelineSubscriptionRow, SubscribedRunRow
from models.tables.pipelines import Pipeline
from models.tables.projects import Project
from models.tables.subscriptions import PipelineSubscription, SubscribedRun
from models.typed_rows import first_of

subscription = table_of(PipelineSubscription)
run = table_of(SubscribedRun)
pipeline = table_of(Pipeline)
project = table_of(Project)

MAX_SUBSCRIPTIONS: Final = 2
"""Upstream projects of one, and projects that follow one; as in GitLab."""


@dataclass(frozen=True, slots=True)
class ListedSubscription(PipelineSubscriptionRow):
    """A subscription whose upstream project is there; `upstream_path` is its full path."""

    upstream_project_id: int
    upstream_path: str


def of_project(project_id: int) -> Listing[ListedSubscription]:
    """Statement for the subscriptions of a project, by id."""
    statement = (
        select(subscription, project.c.full_path.label("upstream_path"))
        .join(project, project.c.id == subscription.c.upstream_project_id)
        .where(subscription.c.project_id == project_id)
        .order_by(subscription.c.id)
    )
    return Listing(statement, ListedSubscription)


async def get(connection: AsyncConnection, subscription_id: int, project_id: int) -> ListedSubscription:
    """A subscription of a project. Raises `NotFound`."""
    statement = of_project(project_id).statement.where(subscription.c.id == subscription_id)
    row = first_of(ListedSubscription, await connection.execute(statement))
    if row is None:
        raise NotFound("Subscription Not Found")
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
        if (await connection.execute(living)).scalar_one() >= MAX_SUBSCRIPTIONS:
            raise Invalid(f"Maximum number of {what} subscriptions ({MAX_SUBSCRIPTIONS}) exceeded; remove one first.")
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


OWED: Final = OwedPipelines(run, Listing(select(run), SubscribedRunRow), longest_pause=timedelta(minutes=5))
"""Runs whose pipeline is to be made."""
