"""Leases: who holds a job, counted in ticks of a clock that only runs while we really served.

Source: docs/seam.md, "Leases".
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import ColumnElement, Float, and_, bindparam, case, delete, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.pipelines.status import Status
from domain.pods.moving import Move
from models.columns import BIG, table_of
from models.repositories import database_time
from models.repositories.installation.installations import HELD
from models.repositories.pipelines.folding import fold_stages, lock_stages
from models.repositories.pipelines.job_rows import job, lock, set_status
from models.tables.moves import OrganisationMove
from models.tables.projects import Project
from models.tables.queue import Lease, LeaseClock
from models.tables.runners import Runner
from models.typed_rows import all_of

lease = table_of(Lease)
clock = table_of(LeaseClock)
runner = table_of(Runner)
move = table_of(OrganisationMove)
project = table_of(Project)

_CLOCK: Final = select(clock.c.ticks, clock.c.ticked_at)
_IS_CALM: Final = select(clock.c.ticks < clock.c.calm_until)
_HELD: Final = select(func.count()).select_from(lease)
_TICKS: Final = select(clock.c.ticks)
NOW: Final = func.coalesce(_TICKS.scalar_subquery(), 0)
_SILENT: Final = (
    select(lease.c.job_id, lease.c.hand_out, job.c.pipeline_id, job.c.status)
    .join(job, job.c.id == lease.c.job_id)
    .where(lease.c.contact < NOW - bindparam("b_ticks"), lease.c.taken_up == bindparam("b_taken_up"))
    .order_by(lease.c.contact, lease.c.job_id)
)
_timeout = case((runner.c.maximum_timeout < job.c.timeout, runner.c.maximum_timeout), else_=job.c.timeout)
_ran = (NOW - lease.c.since) * bindparam("b_every", type_=Float)
_OVERDUE: Final = (
    select(lease.c.job_id, lease.c.hand_out, _timeout.label("timeout"))
    .select_from(lease.join(job, job.c.id == lease.c.job_id).outerjoin(runner, runner.c.id == job.c.runner_id))
    .where(job.c.status == Status.RUNNING, _ran > _timeout + bindparam("b_grace", type_=Float))
    .order_by(lease.c.since, lease.c.job_id)
)


@dataclass(frozen=True, slots=True)
class SilentLease:
    """A lease without a call for some time, and the status of its job."""

    job_id: int
    hand_out: int
    pipeline_id: int
    status: str


@dataclass(frozen=True, slots=True)
class OverdueJob:
    """A job that has run for longer than its runner was told (`timeout`, in seconds)."""

    job_id: int
    hand_out: int
    timeout: int


@dataclass(frozen=True, slots=True)
class Tick:
    """A tick that was written. `gap` is how long one was due before it, in seconds.

    `set_back` is by how many seconds the database's clock was set back since the tick before; 0 if it was not.
    """

    ticks: int
    gap: float
    set_back: float = 0.0


async def tick(connection: AsyncConnection, every: float) -> Tick | None:
    """Count one tick unless another process has just done so (then None)."""
    now = await database_time.seconds(connection)  # the only clock that leases know
    row = (await connection.execute(_CLOCK)).first()
    if row is None:
        await connection.execute(insert(clock).values(id=1, ticks=1, ticked_at=now, calm_until=0))
        return Tick(1, 0.0)
    ahead = row.ticked_at - now
    if -every * 0.9 < ahead <= every:
        return None  # it saves a write that would change nothing
    written = await connection.execute(
        update(clock).where(clock.c.id == 1, clock.c.ticks == row.ticks).values(ticks=row.ticks + 1, ticked_at=now)
    )
    if written.rowcount == 0:
        return None
    # Whoever waited for a clock that was set back to come to the tick before would count none until then.
    return Tick(row.ticks + 1, max(0.0, -ahead - every), ahead if ahead > every else 0.0)


def _forgiven(real: ColumnElement[int], counted: ColumnElement[int]) -> ColumnElement[int]:
    """What an outage makes of a silence (`domain.runners.leases.Silence.forgiven`)."""
    given = func.coalesce(real, counted) + bindparam("b_bonus", type_=BIG)
    return case((counted > given, counted), else_=given)


_FORGIVE: Final = update(lease).values(
    called=func.coalesce(lease.c.called, lease.c.contact),
    contact=_forgiven(lease.c.called, lease.c.contact),
    claimed=func.coalesce(lease.c.claimed, lease.c.since),
    since=_forgiven(lease.c.claimed, lease.c.since),
)


async def extend_all(connection: AsyncConnection, ticks: int) -> None:
    """After an outage every lease lives so many ticks longer, and every job may run so many ticks longer.

    A bonus that is given already counts: the longest one holds, not the sum. For so many ticks nothing is ended that
    only waited too long by the clock.
    """
    await connection.execute(select(lease.c.job_id).order_by(lease.c.job_id).with_for_update())
    await connection.execute(_FORGIVE, {"b_bonus": ticks})
    await connection.execute(update(clock).values(calm_until=clock.c.ticks + ticks))


_HELD_ORGANISATIONS: Final = select(move.c.organisation_id).where(move.c.state == Move.HELD)
_YOUNGER: Final = {name: lease.c[name] + 1 for name in ("contact", "called", "since", "claimed")}


async def stand_still(connection: AsyncConnection) -> None:
    """Let the tick that was just counted not count for jobs of organisations that are held: we refuse their calls.

    Nor for those that a copy of another installation has of its backup: their runners call the original.
    """
    organisations = (await connection.execute(_HELD_ORGANISATIONS)).scalars().all()
    held_up_to = (await connection.execute(select(HELD))).scalar_one()
    if not organisations and not held_up_to:  # as at nearly every tick: no lease is looked at
        return
    statement = (
        select(lease.c.job_id)
        .join(job, job.c.id == lease.c.job_id)
        .join(project, project.c.id == job.c.project_id)
        .where(project.c.organisation_id.in_(organisations) | (job.c.pipeline_id <= held_up_to))
        .order_by(lease.c.job_id)
    )
    ids = (await connection.execute(statement.with_for_update(of=lease))).scalars().all()
    await connection.execute(update(lease).where(lease.c.job_id.in_(ids)).values(_YOUNGER))


async def is_calm(connection: AsyncConnection) -> bool:
    """Whether an outage has passed so recently that who waited for us shall not be blamed for it."""
    return bool((await connection.execute(_IS_CALM)).scalar())


async def silent(connection: AsyncConnection, ticks: int, *, taken_up: bool) -> Sequence[SilentLease]:
    """Leases without a call for more than `ticks`, oldest first."""
    return all_of(SilentLease, await connection.execute(_SILENT, {"b_ticks": ticks, "b_taken_up": taken_up}))


async def still_silent(connection: AsyncConnection, rows: Sequence[SilentLease], ticks: int) -> set[int]:
    """The jobs of these leases for which no call has come at the last moment; none can come before the commit.

    Locks in the order of everybody else: the jobs, then their leases.
    """
    ids = [row.job_id for row in rows]
    await lock(connection, ids)
    now = await _ticks(connection)
    statement = select(lease.c.job_id).where(lease.c.job_id.in_(ids), lease.c.contact < now - ticks)
    return set((await connection.execute(statement.order_by(lease.c.job_id).with_for_update())).scalars())


async def overdue(connection: AsyncConnection, every: float, grace: float) -> Sequence[OverdueJob]:
    """Running jobs that have run for more than `grace` seconds beyond what their runner was told, oldest first.

    Counted from the claim, in ticks of `every` seconds. A runner is told the job's timeout or its own, whichever is
    shorter.
    """
    return all_of(OverdueJob, await connection.execute(_OVERDUE, {"b_every": every, "b_grace": grace}))


async def _ticks(connection: AsyncConnection) -> int:
    return (await connection.execute(_TICKS)).scalar() or 0


async def held(connection: AsyncConnection) -> int:
    """How many jobs runners hold."""
    return int((await connection.execute(_HELD)).scalar_one())


async def unresponsive(connection: AsyncConnection, job_ids: Sequence[int], ticks: int) -> set[int]:
    """Those of the jobs whose runner has been silent for more than `ticks`."""
    if not job_ids:
        return set()
    now = await _ticks(connection)
    statement = select(lease.c.job_id).where(lease.c.job_id.in_(job_ids), lease.c.contact < now - ticks)
    return set((await connection.execute(statement)).scalars())


async def put_back(connection: AsyncConnection, rows: Sequence[SilentLease], now: datetime) -> list[int]:
    """Hand-outs that nobody took up: the jobs wait for a runner again; one taken up at the last moment stays.

    A job that was asked to stop meanwhile keeps its lease, until it is ended as one that does not stop. A stage in
    which nothing else runs waits again; its pipeline goes on running.
    """
    await lock(connection, [row.job_id for row in rows])
    moved: list[int] = []
    for row in rows:
        if row.status != Status.RUNNING:
            continue
        untaken = and_(lease.c.job_id == row.job_id, lease.c.hand_out == row.hand_out, ~lease.c.taken_up)
        if (await connection.execute(delete(lease).where(untaken))).rowcount:
            moved += await set_status(connection, [row.job_id], Status.PENDING, now, runner_id=None, system_id="")
    waiting = sorted({row.pipeline_id for row in rows if row.job_id in moved})
    if waiting:
        await lock_stages(connection, waiting)
    for pipeline_id in waiting:
        await fold_stages(connection, pipeline_id)
    return moved
