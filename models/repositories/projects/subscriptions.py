"""Subscriptions to other projects, and the pipelines that are to be made for them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import bindparam, case, delete, exists, func, insert, literal, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.errors import FieldsInvalid, Invalid, NotFound
from domain.pipelines.bridges import CHILD
from domain.pipelines.cross_pod_subscriptions import RENEWED_EVERY, Release
from models.columns import table_of
from models.repositories.paging import Listing
from models.repositories.pipelines import outbox
from models.repositories.pipelines.pipeline_requests import OwedPipelines
from models.rows.subscriptions import PipelineSubscriptionRow, SubscribedRunRow
from models.tables.accounts import User
from models.tables.cross_pod import CrossPodFollower
from models.tables.pipelines import Pipeline
from models.tables.projects import Project
from models.tables.subscriptions import PipelineSubscription, SubscribedRun
from models.typed_rows import all_of, first_of

subscription = table_of(PipelineSubscription)
run = table_of(SubscribedRun)
pipeline = table_of(Pipeline)
project = table_of(Project)
follower = table_of(CrossPodFollower)
account = table_of(User)
_own = project.alias("own")

MAX_SUBSCRIPTIONS: Final = 2
"""Upstream projects of one, and projects that follow one; as in GitLab."""


@dataclass(frozen=True, slots=True)
class ListedSubscription(PipelineSubscriptionRow):
    """A subscription whose upstream project is there, or in another pod; `upstream_path` is its full path."""

    upstream_project_id: int


@dataclass(frozen=True, slots=True)
class DueSubscription:
    """A subscription to a project that is not of this pod, and the account at home of whoever subscribed."""

    id: int
    project_id: int
    upstream_project_id: int
    full_path: str
    username: str
    home_id: int


def of_project(project_id: int) -> Listing[ListedSubscription]:
    """Statement for the subscriptions of a project, by id."""
    statement = (
        select(*(column for column in subscription.c if column.name != "upstream_path"))
        .add_columns(func.coalesce(project.c.full_path, subscription.c.upstream_path).label("upstream_path"))
        .outerjoin(project, project.c.id == subscription.c.upstream_project_id)
        .where(subscription.c.project_id == project_id, subscription.c.upstream_project_id.is_not(None))
        .where(or_(project.c.id.is_not(None), subscription.c.upstream_path != ""))
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


async def add(
    connection: AsyncConnection, project_id: int, upstream_id: int, user_id: int, now: datetime, path: str = ""
) -> int:
    """Let a project follow another one. Raises `Invalid` if it does already, or when there are too many.

    `path` is what another pod calls the other one, which has been told of it just now.
    """
    await lock_projects(connection, [project_id, upstream_id])
    rule = (subscription.c.project_id == project_id) & (subscription.c.upstream_project_id == upstream_id)
    if (await connection.execute(select(subscription.c.id).where(rule))).first() is not None:
        raise FieldsInvalid(upstream_project="has already been taken: this project follows it already.")
    await require_room(connection, project_id)
    if not path:
        await require_room_for_follower(connection, upstream_id)
    values = {"project_id": project_id, "upstream_project_id": upstream_id, "user_id": user_id, "created_at": now}
    told = {"upstream_path": path, "told_at": now if path else None}
    made: int = (
        await connection.execute(insert(subscription).values(**values, **told).returning(subscription.c.id))
    ).scalar_one()
    return made


async def lock_projects(connection: AsyncConnection, ids: Sequence[int]) -> None:
    """Hold projects to the end of the transaction, so that two who count at once do not both find room."""
    await connection.execute(select(project.c.id).where(project.c.id.in_(ids)).order_by(project.c.id).with_for_update())


async def require_room(connection: AsyncConnection, project_id: int) -> None:
    """Raises `Invalid` where a project follows as many as it may."""
    mine = (subscription.c.project_id == project_id) & subscription.c.upstream_project_id.is_not(None)
    if (await connection.execute(select(func.count()).where(mine))).scalar_one() >= MAX_SUBSCRIPTIONS:
        raise _too_many("upstream")


async def require_room_for_follower(connection: AsyncConnection, upstream_id: int) -> None:
    """Raises `Invalid` where as many as may follow a project, from this pod and others."""
    here = select(func.count()).where(subscription.c.upstream_project_id == upstream_id)
    elsewhere = select(func.count()).where(follower.c.upstream_project_id == upstream_id)
    counts = [(await connection.execute(statement)).scalar_one() for statement in (here, elsewhere)]
    if sum(counts) >= MAX_SUBSCRIPTIONS:
        raise _too_many("downstream")


def _too_many(what: str) -> Invalid:
    return Invalid(f"Maximum number of {what} subscriptions ({MAX_SUBSCRIPTIONS}) exceeded; remove one first.")


_AT_HOME: Final = case((account.c.home_pod.is_(None), account.c.id), else_=func.coalesce(account.c.home_id, 0))
_IS_HERE: Final = exists().where(project.c.id == subscription.c.upstream_project_id)


async def due(connection: AsyncConnection, now: datetime, limit: int) -> Sequence[DueSubscription]:
    """Subscriptions to projects that are not here, of which their pods were not told for a while."""
    statement = (
        select(subscription.c.id, subscription.c.project_id, subscription.c.upstream_project_id)
        .add_columns(_own.c.full_path, account.c.username)
        .add_columns(_AT_HOME.label("home_id"))
        .join(_own, _own.c.id == subscription.c.project_id)
        .join(account, account.c.id == subscription.c.user_id)
        .where(subscription.c.upstream_project_id.is_not(None), ~_IS_HERE)
        .where(or_(subscription.c.told_at.is_(None), subscription.c.told_at < now - RENEWED_EVERY))
        .order_by(subscription.c.told_at, subscription.c.id)
        .limit(limit)
    )
    return all_of(DueSubscription, await connection.execute(statement))


async def note_renewed(connection: AsyncConnection, subscription_id: int, path: str, now: datetime) -> None:
    """Another pod was told of a subscription, and calls the project so; nothing if nobody may see it by now."""
    named = {"upstream_path": path} if path else {}
    rule = subscription.c.id == subscription_id
    await connection.execute(update(subscription).where(rule).values(told_at=now, **named))


async def note_release(connection: AsyncConnection, project_id: int, release: Release, now: datetime) -> bool:
    """A pipeline of another pod has succeeded: a project that follows its project gets a run, once.

    False where it does not follow that.
    """
    rule = (subscription.c.project_id == project_id) & (subscription.c.upstream_project_id == release.project_id)
    row = (await connection.execute(select(subscription.c.user_id).where(rule).with_for_update())).first()
    if row is None:
        return False
    known = (run.c.project_id == project_id) & (run.c.upstream_id == release.pipeline_id)
    if (await connection.execute(select(run.c.id).where(known))).first() is None:
        values = dict(zip(_COLUMNS, (project_id, release.pipeline_id, row.user_id, "", 0, now, now), strict=False))
        await connection.execute(insert(run).values(**values, upstream_project_id=release.project_id))
    if release.full_path:
        await connection.execute(update(subscription).where(rule).values(upstream_path=release.full_path))
    return True


async def remove(connection: AsyncConnection, subscription_id: int) -> None:
    """Follow no more."""
    await connection.execute(delete(subscription).where(subscription.c.id == subscription_id))


_COLUMNS: Final = (
    "project_id",
    "upstream_id",
    "user_id",
    "error",
    "attempts",
    "created_at",
    "not_before",
    "upstream_project_id",
)
_now: Any = bindparam("b_now", type_=run.c.created_at.type)
_NOTE: Final = insert(run).from_select(
    _COLUMNS,
    select(subscription.c.project_id, pipeline.c.id, subscription.c.user_id, literal(""), literal(0), _now, _now)
    .add_columns(pipeline.c.project_id)
    .select_from(pipeline.join(subscription, subscription.c.upstream_project_id == pipeline.c.project_id))
    .where(pipeline.c.id == bindparam("b_pipeline"), pipeline.c.tag, pipeline.c.source != CHILD)
    .where(~exists().where(run.c.project_id == subscription.c.project_id, run.c.upstream_id == pipeline.c.id)),
)


_IS_FOLLOWED_ELSEWHERE: Final = (
    select(pipeline.c.id)
    .join(follower, follower.c.upstream_project_id == pipeline.c.project_id)
    .where(pipeline.c.id == bindparam("b_pipeline"), pipeline.c.tag, pipeline.c.source != CHILD)
    .limit(1)
)


async def note_success(connection: AsyncConnection, pipeline_id: int, now: datetime) -> set[str]:
    """A pipeline has succeeded: if it is of a tag, every project that follows its project gets a run, once.

    Returns the kinds of outbox rows that were put: other pods are told by one.
    """
    await connection.execute(_NOTE, {"b_pipeline": pipeline_id, "b_now": now})
    if (await connection.execute(_IS_FOLLOWED_ELSEWHERE, {"b_pipeline": pipeline_id})).first() is None:
        return set()
    await outbox.put(connection, outbox.RELEASED, pipeline_id, now)
    return {outbox.RELEASED}


OWED: Final = OwedPipelines(run, Listing(select(run), SubscribedRunRow), longest_pause=timedelta(minutes=5))
"""Runs whose pipeline is to be made."""
