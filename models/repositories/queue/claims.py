"""Claims: a runner takes a pending job; what it may have is in the query, and the hand-out is one transaction.

`FOR UPDATE SKIP LOCKED` on PostgreSQL, one writer on SQLite: a race never gives a job twice.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Final

from sqlalchemy import Executable, bindparam, delete, func, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.environments.places import START
from domain.pipelines.status import COMPLETE, Status
from domain.runners.matching import RunnerType
from models.columns import table_of
from models.repositories.environments import deployments
from models.repositories.hooks import webhook_events
from models.repositories.pipelines import verdicts
from models.repositories.pipelines.job_rows import job
from models.repositories.queue import queue
from models.repositories.queue.hand_outs import HandOut
from models.repositories.queue.queue import HeldEntry, Kind
from models.rows.pipelines import JobRow
from models.tables.logs import Trace
from models.tables.pipelines import Pipeline, Stage
from models.tables.queue import Lease, LeaseClock, QueueEntry
from models.typed_rows import all_of

entry = table_of(QueueEntry)
lease = table_of(Lease)
clock = table_of(LeaseClock)
pipeline = table_of(Pipeline)
stage = table_of(Stage)
trace = table_of(Trace)


@dataclass(frozen=True, slots=True)
class Claim:
    """Who asks for a job. `request_id` names the request: its repetition gets the same job again.

    `features` are those that the runner says it has, None if it says nothing of them. `token_hash` is that of the token
    that was shown: if it is the runner's no more, there is no job.
    """

    runner_id: int
    system_id: str = ""
    request_id: str = ""
    cancel_gracefully: bool = False
    features: frozenset[str] | None = None
    token_hash: str | None = None


_START: Final = (
    update(job)
    .where(job.c.id == bindparam("b_job"))
    .values(
        status=str(Status.RUNNING),
        started_at=bindparam("b_now"),
        hand_out=bindparam("b_hand_out"),
        runner_id=bindparam("b_runner"),
        system_id=bindparam("b_system"),
        cancel_gracefully=bindparam("b_graceful"),
    )
)
_DEQUEUE: Final = delete(entry).where(entry.c.job_id == bindparam("b_job"))
_LEASE: Final = insert(lease).values(
    job_id=bindparam("b_job"),
    load_of=bindparam("b_load_of"),
    hand_out=bindparam("b_hand_out"),
    taken_up=False,
    contact=func.coalesce(select(clock.c.ticks).scalar_subquery(), 0),
    since=func.coalesce(select(clock.c.ticks).scalar_subquery(), 0),
    request_id=bindparam("b_request"),
)
_NEW_TRACE: Final = insert(trace).values(
    job_id=bindparam("b_job"),
    generation=0,
    size=0,
    crc=0,
    earlier_size=0,
    earlier_crc=0,
    frozen=False,
    resent=False,
    copied=False,
    stored=False,
)
_FRESH_TRACE: Final = (
    update(trace)
    .where(trace.c.job_id == bindparam("b_job"))
    .values(generation=trace.c.generation + 1, size=0, crc=0, frozen=False, resent=False)
)
_DEPLOYING: Final = select(job).where(job.c.id.in_(bindparam("b_jobs", expanding=True))).order_by(job.c.id)
_LIFT_STAGE: Final = (
    update(stage)
    .where(stage.c.id == bindparam("b_stage"), stage.c.status != Status.RUNNING)
    .values(status=str(Status.RUNNING))
)
_LIFT_PIPELINE: Final = (
    update(pipeline)
    .where(
        pipeline.c.id == bindparam("b_pipeline"),
        or_(pipeline.c.status != Status.RUNNING, pipeline.c.started_at.is_(None)),
        *(pipeline.c.status != status for status in sorted(COMPLETE)),
    )
    .values(status=str(Status.RUNNING), started_at=bindparam("b_now"), updated_at=bindparam("b_now"))
)


_LIFTED: Final = _LIFT_PIPELINE.returning(pipeline.c.id)


async def take(
    connection: AsyncConnection,
    asking: Sequence[Claim],
    now: datetime,
    leaving: Collection[int] = (),
    *,
    is_copy: bool = False,
) -> list[int | None]:
    """Hand out the next job to each claim: its id, or None where there is nothing for that runner.

    The runners are looked at here: one that was paused or changed while it waited gets what it may have now. The leases
    are not taken up yet; `lift` must follow in the same transaction. A job whose deployment is outdated fails on the
    way, and the next one is looked at. Jobs of organisations that are `leaving` the pod are not handed out, nor in a
    copy of another installation those of its backup.
    """
    rows = await queue.runners_of(connection, {claim.runner_id for claim in asking})
    given = await queue.given(connection, {claim.request_id for claim in asking} - {""})
    found: dict[int, int] = {}
    named: dict[tuple[int, str], int] = {}
    kinds: defaultdict[Kind, dict[int, Claim]] = defaultdict(dict)
    for number, claim in enumerate(asking):
        row, name = rows.get(claim.runner_id), (claim.runner_id, claim.request_id)
        if row is None or claim.token_hash not in {None, row.token_hash, row.previous_token_hash}:
            continue
        if name in given:
            found[number] = given[name]
        elif not claim.request_id or named.setdefault(name, number) == number:
            kinds[queue.kind_of(row)][number] = claim
    for kind, waiting in kinds.items():
        found |= await _serve(connection, kind, waiting, now, leaving, is_copy=is_copy)
    repeated = [named.get((claim.runner_id, claim.request_id), number) for number, claim in enumerate(asking)]
    return [found.get(number) for number in repeated]


async def _serve(
    connection: AsyncConnection,
    kind: Kind,
    waiting: dict[int, Claim],
    now: datetime,
    leaving: Collection[int],
    *,
    is_copy: bool,
) -> dict[int, int]:
    """Give jobs to runners of one kind, who asks first is served first; by number, and only those who got one."""
    served: dict[int, int] = {}
    passed: set[int] = set()
    while left := [number for number in waiting if number not in served]:
        wanted = await queue.turns(connection, kind, len(left), passed, leaving, is_copy=is_copy)
        held = await queue.hold(connection, kind, wanted) if wanted else ()
        short = Counter(row.demand_id for row in wanted) - Counter(row.demand_id for row in held)
        passed |= short.keys()
        taken = dict(zip(left, held, strict=False))
        await _open(connection, [(waiting[number], row) for number, row in taken.items()], kind, now)
        refused = await _fail_outdated(connection, taken.values(), now)
        served |= {number: row.job_id for number, row in taken.items() if row.job_id not in refused}
        if not short and not refused:
            break
    return served


async def _fail_outdated(connection: AsyncConnection, taken: Iterable[HeldEntry], now: datetime) -> set[int]:
    """Jobs that must not deploy any more, which have failed now. Jobs that deploy nothing cost no query."""
    deploying = [row.job_id for row in taken if row.environment_action == START]
    refused: set[int] = set()
    if not deploying:
        return refused
    for row in all_of(JobRow, await connection.execute(_DEPLOYING, {"b_jobs": deploying})):
        if reason := await deployments.objection(connection, row):
            await verdicts.end_jobs(connection, [row.id], Status.FAILED, now, reason=reason)
            refused.add(row.id)
    return refused


async def lift(connection: AsyncConnection, taken: Iterable[HandOut], now: datetime) -> None:
    """Stages and pipelines run as soon as one of their jobs does; always in the same order, so that none waits in turn.

    The stages are held since the hand-outs were read, so their status is still what it was. A pipeline that runs is
    never lowered while one of its jobs is open.
    """
    taken = list(taken)
    stages = {item.job.stage_id for item in taken if item.stage_status != Status.RUNNING}
    if stages:
        await connection.execute(_LIFT_STAGE, [{"b_stage": stage_id} for stage_id in sorted(stages)])
    rows = (item.pipeline for item in taken)
    begun = {row.id for row in rows if not (row.status == Status.RUNNING and row.started_at)}
    if any(webhook_events.is_claim_heard(item.project.watched, item.job.environment_action) for item in taken):
        await _lift_and_tell(connection, taken, begun, now)
    elif begun:
        await connection.execute(_LIFT_PIPELINE, [{"b_pipeline": number, "b_now": now} for number in sorted(begun)])


async def _lift_and_tell(connection: AsyncConnection, taken: Sequence[HandOut], begun: set[int], now: datetime) -> None:
    """Lift the pipelines one by one, and note what happened for those who want to hear of it."""
    around = {item.pipeline.id: item for item in taken}
    for number in sorted(begun):
        lifted = (await connection.execute(_LIFTED, {"b_pipeline": number, "b_now": now})).first()
        if lifted is not None and around[number].pipeline.status != Status.RUNNING:
            watched = around[number].project.watched
            await webhook_events.pipeline_changed(connection, number, watched, Status.RUNNING, now)
    for item in taken:
        action = item.job.environment_action
        await webhook_events.jobs_made(connection, [item.job.id], item.project.watched, now, environment_action=action)


async def _open(
    connection: AsyncConnection, taken: Sequence[tuple[Claim, HeldEntry]], kind: Kind, now: datetime
) -> None:
    """Let the jobs run; they are locked."""
    fair = kind.runner_type is RunnerType.INSTANCE
    for is_first in (True, False):
        values = [
            {
                "b_now": now,
                "b_runner": claim.runner_id,
                "b_system": claim.system_id,
                "b_graceful": claim.cancel_gracefully,
                "b_job": row.job_id,
                "b_load_of": row.project_id if fair else None,
                "b_hand_out": row.hand_out + 1,
                "b_request": claim.request_id,
            }
            for claim, row in taken
            if is_first is (row.hand_out == 0)
        ]
        for statement in _opening(connection.dialect.name, is_first=is_first) if values else ():
            await connection.execute(statement, values)


@cache
def _opening(dialect: str, *, is_first: bool) -> tuple[Executable, ...]:
    """What opens a hand-out: in one round trip where a statement may hold several.

    A hand-out that nobody took up wrote nothing; the next one begins a log of its own all the same.
    """
    log = _NEW_TRACE if is_first else _FRESH_TRACE
    if dialect == "sqlite":
        return _START, _DEQUEUE, _LEASE, log
    return (log.add_cte(_START.cte("started"), _DEQUEUE.cte("dequeued"), _LEASE.cte("leased")),)
