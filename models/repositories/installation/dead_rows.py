"""Rows that nothing needs any more and that would otherwise grow for ever: what each is, and how long it stays."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import ColumnElement, Table, delete, exists, or_, select, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.pipelines.status import COMPLETE
from domain.schedules.ticks import OPEN
from models.columns import table_of
from models.tables.accounts import AccessToken
from models.tables.audit import AuditEvent
from models.tables.contributions import Contribution
from models.tables.incoming_hooks import IncomingDelivery
from models.tables.outbox import OperationKey, Push
from models.tables.pipelines import Job, Pipeline
from models.tables.runners import RunnerManager
from models.tables.schedules import ScheduleTick
from models.tables.subscriptions import SubscribedRun
from models.tables.unit_tests import UnitTest, UnitTestRun
from settings import Retention

token = table_of(AccessToken)
contribution = table_of(Contribution)
event = table_of(AuditEvent)
delivery = table_of(IncomingDelivery)
job = table_of(Job)
key = table_of(OperationKey)
manager = table_of(RunnerManager)
pipeline = table_of(Pipeline)
push = table_of(Push)
run = table_of(SubscribedRun)
test = table_of(UnitTest)
test_run = table_of(UnitTestRun)
tick = table_of(ScheduleTick)

_HOLDS_A_JOB: Final = exists().where(
    job.c.runner_id == manager.c.runner_id,
    job.c.system_id == manager.c.system_id,
    job.c.status.not_in(sorted(COMPLETE)),
)
_OF_ENDED: Final = exists().where(pipeline.c.id == key.c.pipeline_id, pipeline.c.status.in_(sorted(COMPLETE)))

_WAS_RUN: Final = exists().where(test_run.c.test_id == test.c.id)
_IS_DONE: Final = tick.c.outcome.not_in(sorted(OPEN))
_HAS_PIPELINE: Final = exists().where(pipeline.c.id == tick.c.pipeline_id)


@dataclass(frozen=True, slots=True)
class Policy:
    """Rows of `table` go for which `old` holds, of a moment that is `seconds` of the settings ago (0: never)."""

    table: Table
    seconds: str

    def old(self, limit: datetime) -> ColumnElement[bool]:
        """Which rows."""
        found: ColumnElement[bool] = _OLD[self.table.name](limit)
        return found


_OLD: Final[Mapping[str, Any]] = {
    "push": lambda limit: push.c.done_at < limit,
    "operation_key": lambda limit: (key.c.created_at < limit) & _OF_ENDED,
    "access_token": lambda limit: or_(token.c.revoked_at < limit, token.c.expires_on < limit.date()),
    "runner_manager": lambda limit: (manager.c.contacted_at < limit) & ~_HOLDS_A_JOB,
    "schedule_tick": lambda limit: (tick.c.created_at < limit) & _IS_DONE & ~_HAS_PIPELINE,
    "incoming_delivery": lambda limit: delivery.c.done_at < limit,
    "subscribed_run": lambda limit: run.c.done_at < limit,
    "audit_event": lambda limit: event.c.created_at < limit,
    "contribution": lambda limit: contribution.c.created_at < limit,
    "unit_test_run": lambda limit: test_run.c.test_id.in_(select(test.c.id).where(test.c.last_seen < limit)),
    "unit_test": lambda limit: (test.c.last_seen < limit) & ~_WAS_RUN,
}

POLICIES: Final = (
    Policy(push, "pushes_kept"),
    Policy(key, "operation_keys_kept"),
    Policy(token, "dead_tokens_kept"),
    Policy(manager, "silent_managers_kept"),
    Policy(event, "audit_events_kept"),
    Policy(contribution, "contributions_kept"),
    Policy(tick, "ticks_kept"),
    Policy(delivery, "deliveries_kept"),
    Policy(run, "deliveries_kept"),
    Policy(test_run, "tests_kept"),
    Policy(test, "tests_kept"),
)


async def remove(connection: AsyncConnection, policy: Policy, retention: Retention, now: datetime, limit: int) -> int:
    """Remove up to `limit` rows; how many."""
    seconds: float = getattr(retention, policy.seconds)
    if not seconds:
        return 0
    identity = list(policy.table.primary_key)
    named = identity[0] if len(identity) == 1 else tuple_(*identity)
    old = select(*identity).where(policy.old(now - timedelta(seconds=seconds))).limit(limit)
    return int((await connection.execute(delete(policy.table).where(named.in_(old)))).rowcount)
