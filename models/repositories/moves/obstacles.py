"""What keeps an organisation from being packed at this moment: what is under way and would be cut in two."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, Select, literal, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.pipelines.status import COMPLETE
from models.columns import table_of
from models.repositories.pipelines.cross_pod import downstream, upstream
from models.repositories.pipelines.job_rows import job
from models.repositories.pipelines.outbox import BRIDGE_ELSEWHERE, outbox
from models.tables.hooks import Hook, HookDelivery, HookEvent
from models.tables.merge_requests import MergeRequest
from models.tables.mirrors import Mirror
from models.tables.namespaces import Namespace
from models.tables.outbox import Push
from models.tables.pipelines import Pipeline
from models.tables.projects import Project
from models.tables.queue import Lease
from models.typed_rows import all_of

delivery = table_of(HookDelivery)
event = table_of(HookEvent)
hook = table_of(Hook)
lease = table_of(Lease)
merge_request = table_of(MergeRequest)
mirror = table_of(Mirror)
namespace = table_of(Namespace)
pipeline = table_of(Pipeline)
project = table_of(Project)
push = table_of(Push)

RUNNING: Final = "job that a runner holds"
_FAR_BRIDGE: Final = "bridge whose pipeline is in another pod"
SHOWN: Final = 20
"""So many are named."""


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Something that is under way: `what` it is, and the id of its row."""

    what: str
    id: int


async def obstacles(connection: AsyncConnection, organisation_id: int, now: datetime) -> Sequence[Obstacle]:
    """What is under way, 20 of each kind at most."""
    mine = select(project.c.id).where(project.c.organisation_id == organisation_id)
    found: list[Obstacle] = []
    for statement in (
        _named(RUNNING, lease.c.job_id).join(job, job.c.id == lease.c.job_id).where(job.c.project_id.in_(mine)),
        _named("push that is not over", push.c.id).where(push.c.project_id.in_(mine), push.c.done_at.is_(None)),
        _named("merge request that is being merged", merge_request.c.id).where(
            merge_request.c.project_id.in_(mine), merge_request.c.state == "locked"
        ),
        _named("mirror that is being pulled", mirror.c.id).where(
            mirror.c.project_id.in_(mine), mirror.c.held_until > now
        ),
        _named("delivery to a hook of the pod", delivery.c.id)
        .join(event, event.c.id == delivery.c.event_id)
        .outerjoin(hook, hook.c.id == delivery.c.hook_id)
        .where(event.c.project_id.in_(mine), delivery.c.state == "open", hook.c.scope.not_in(("project", "group"))),
        _named("project that is being removed", project.c.id).where(
            project.c.id.in_(mine), project.c.removal_asked_at.is_not(None)
        ),
        _named("group that is being removed", namespace.c.id).where(
            namespace.c.organisation_id == organisation_id, namespace.c.removal_asked_at.is_not(None)
        ),
        _across(mine),
        _named(_FAR_BRIDGE, job.c.id)
        .join(downstream, downstream.c.bridge_id == job.c.id)
        .where(job.c.project_id.in_(mine), job.c.status.not_in(sorted(COMPLETE))),
        _named(_FAR_BRIDGE, job.c.id)
        .join(outbox, outbox.c.job_id == job.c.id)
        .where(job.c.project_id.in_(mine), outbox.c.kind == BRIDGE_ELSEWHERE, outbox.c.sent_at.is_(None)),
        _named("pipeline of a bridge in another pod", pipeline.c.id)
        .join(upstream, upstream.c.pipeline_id == pipeline.c.id)
        .where(
            pipeline.c.project_id.in_(mine),
            or_(pipeline.c.status.not_in(sorted(COMPLETE)), upstream.c.told_status != pipeline.c.status),
        ),
    ):
        found += all_of(Obstacle, await connection.execute(statement.limit(SHOWN)))
    return found


def _named(what: str, key: ColumnElement[int]) -> Select[str, int]:
    return select(literal(what).label("what"), key.label("id")).order_by(key)


def _across(mine: Select[Any]) -> Select[str, int]:
    """Bridges between the organisation and others, one end of which has not ended."""
    ends = sorted(COMPLETE)
    statement = _named("bridge to or from another organisation", job.c.id)
    return statement.join(pipeline, pipeline.c.id == job.c.downstream_id).where(
        job.c.project_id.in_(mine) != pipeline.c.project_id.in_(mine),
        or_(job.c.status.not_in(ends), pipeline.c.status.not_in(ends)),
    )
