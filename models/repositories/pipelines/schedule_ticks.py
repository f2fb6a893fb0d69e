"""The ticks of pipeline schedules: each has one row, written before anything is done about it.

Whoever accounts for a tick first accounts for all those before it too, so none is left out; who comes later finds the
rows. The row of the schedule is locked meanwhile: ticks of one schedule are decided one after the other.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, Final

from sqlalchemy import Select, exists, func, select, text, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.schedules.cron_ticks import FARTHEST, ticks
from domain.schedules.ticks import (
    CANCELED,
    OPEN,
    REPLACED,
    RUNNING,
    CatchUp,
    Outcome,
    Overlap,
    Policy,
    Standing,
    Step,
    after,
    decide,
)
from models.columns import table_of
from models.repositories.paging import Listing
from models.repositories.pipelines import outbox
from models.repositories.pipelines.warnings import PIPELINE
from models.rows.pipelines import PipelineRow
from models.rows.schedules import PipelineScheduleRow, ScheduleTickRow
from models.tables.pipelines import Pipeline
from models.tables.projects import Project
from models.tables.schedules import OPEN_TICK, PipelineSchedule, ScheduleTick
from models.time_zones import timetable
from models.typed_rows import all_of, first_of

schedule = table_of(PipelineSchedule)
tick = table_of(ScheduleTick)
pipeline = table_of(Pipeline)
project = table_of(Project)

MAX_BATCH: Final = 1_000
"""So many ticks are accounted for in one transaction."""

_INSERT: Final[dict[str, Any]] = {"postgresql": postgresql.insert, "sqlite": sqlite.insert}
_RUNNING: Final = sorted(map(str, RUNNING))
_OPEN: Final = sorted(map(str, OPEN))
_MOMENT: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Accounted:
    """How many ticks got their row, and whether there are more that were due."""

    ticks: int = 0
    more: bool = False


async def lock(connection: AsyncConnection, schedule_id: int) -> PipelineScheduleRow | None:
    """The row of a schedule, which nobody else changes until the transaction ends; None if it was deleted."""
    statement = select(schedule).where(schedule.c.id == schedule_id, schedule.c.deleted_at.is_(None))
    return first_of(PipelineScheduleRow, await connection.execute(statement.with_for_update()))


async def schedule_of(connection: AsyncConnection, schedule_id: int) -> PipelineScheduleRow | None:
    """The row of a schedule; None if it was deleted."""
    statement = select(schedule).where(schedule.c.id == schedule_id, schedule.c.deleted_at.is_(None))
    return first_of(PipelineScheduleRow, await connection.execute(statement))


async def account(
    connection: AsyncConnection, schedule_id: int, until: datetime, now: datetime, *, limit: int = MAX_BATCH
) -> Accounted:
    """Write a row for each tick that has none and was due by `until`, `limit` at most; each as its policies say."""
    row = await lock(connection, schedule_id)
    if row is None or row.next_tick_at is None or row.next_tick_at > until:
        return Accounted()
    work = _Accounting(row, await _standing(connection, schedule_id), now)
    coming = ticks(*timetable(row.cron, row.cron_timezone), row.next_tick_at - _MOMENT, until + FARTHEST)
    following: datetime | None = None
    for due_at, following in islice(_pairs(coming), limit):
        if due_at > until:  # an earlier version has read another tick out of the expression
            following = due_at
            break
        await work.take(connection, due_at, is_last=following is None or following > max(now, until))
        if following is None or following > until:
            break
    if work.rows:
        await work.write(connection)
    await connection.execute(update(schedule).where(schedule.c.id == schedule_id).values(next_tick_at=following))
    return Accounted(len(work.rows), following is not None and following <= until)


def _pairs(coming: Iterator[datetime]) -> Iterator[tuple[datetime, datetime | None]]:
    """Each tick with the one after it."""
    this = next(coming, None)
    while this is not None:
        following = next(coming, None)
        yield this, following
        this = following


class _Accounting:
    """The rows of one transaction, as they are decided one after the other."""

    def __init__(self, row: PipelineScheduleRow, standing: Standing, now: datetime) -> None:
        window = timedelta(seconds=row.catch_up_window)
        self._policy = Policy(Overlap(row.overlap), CatchUp(row.catch_up), window)
        self._schedule_id = row.id
        self._standing = standing
        self._now = now
        self.rows: list[dict[str, Any]] = []

    async def take(self, connection: AsyncConnection, due_at: datetime, *, is_last: bool) -> None:
        """Decide about one tick, and do to earlier ones what follows from it."""
        step = decide(self._policy, due_at, self._now, self._standing, is_last=is_last)
        if step.replaces:
            await self._replace(connection)
        if step.cancels:
            await _cancel_running(connection, self._schedule_id, due_at, self._now)
        self._standing = after(self._standing, step)
        self.rows.append(_fresh(self._schedule_id, due_at, step, self._now))

    async def _replace(self, connection: AsyncConnection) -> None:
        for row in self.rows:
            if row["outcome"] in OPEN:
                row |= {"outcome": Outcome.SKIPPED, "reason": REPLACED}
        earlier = (tick.c.schedule_id == self._schedule_id, tick.c.outcome.in_(_OPEN), ~tick.c.by_hand)
        values = {"outcome": Outcome.SKIPPED.value, "reason": REPLACED, "updated_at": self._now}
        await connection.execute(update(tick).where(*earlier).values(**values))

    async def write(self, connection: AsyncConnection) -> None:
        """All rows at once."""
        statement = _INSERT[connection.dialect.name](tick).on_conflict_do_nothing()
        await connection.execute(statement, self.rows)


def _fresh(schedule_id: int, due_at: datetime, step: Step, now: datetime) -> dict[str, Any]:
    return {
        "schedule_id": schedule_id,
        "due_at": due_at,
        "outcome": step.outcome,
        "reason": step.reason,
        "by_hand": False,
        "user_id": None,
        "attempts": 0,
        "not_before": now,
        "created_at": now,
        "updated_at": now,
    }


async def _standing(connection: AsyncConnection, schedule_id: int) -> Standing:
    opened = select(tick.c.outcome).where(tick.c.schedule_id == schedule_id, tick.c.outcome.in_(_OPEN)).distinct()
    outcomes = set((await connection.execute(opened)).scalars())
    runs = (await connection.execute(_running(schedule_id).limit(1))).first() is not None
    return Standing(runs, Outcome.DUE in outcomes, Outcome.WAITING in outcomes)


def _running(schedule_id: int) -> Select[Any]:
    """Pipelines of a schedule that have not ended."""
    both = pipeline.join(tick, tick.c.pipeline_id == pipeline.c.id)
    statement = select(pipeline.c.id).select_from(both).order_by(pipeline.c.id)
    return statement.where(tick.c.schedule_id == schedule_id, pipeline.c.status.in_(_RUNNING))


async def _cancel_running(connection: AsyncConnection, schedule_id: int, due_at: datetime, now: datetime) -> None:
    key = f"schedule-{schedule_id}-{due_at:%Y%m%dT%H%M%S}"
    payload = {"name": "cancel_pipeline", "key": key, "reason": CANCELED}
    for pipeline_id in (await connection.execute(_running(schedule_id))).scalars().all():
        await outbox.put(connection, outbox.COMMAND, pipeline_id, now, payload=payload)


def is_tick(row: PipelineScheduleRow, due_at: datetime) -> bool:
    """Whether a moment is a tick of a schedule, whose row this is."""
    found = ticks(*timetable(row.cron, row.cron_timezone), due_at - _MOMENT, due_at)
    return next(found, None) is not None


def is_left_out(row: PipelineScheduleRow, due_at: datetime) -> bool:
    """Whether a moment would be a tick if its week were none of those that the expression leaves out."""
    rule, zone = timetable(row.cron, row.cron_timezone)
    return not is_tick(row, due_at) and any(ticks(rule.each_week(), zone, due_at - _MOMENT, due_at))


async def ask_by_hand(
    connection: AsyncConnection, schedule_id: int, due_at: datetime, now: datetime, user_id: int | None
) -> None:
    """Have a pipeline made now for `user_id` (None: the owner), whatever the policies say; once for each `due_at`."""
    row = _fresh(schedule_id, due_at, Step(Outcome.DUE), now) | {"by_hand": True, "user_id": user_id}
    await connection.execute(_INSERT[connection.dialect.name](tick).on_conflict_do_nothing(), [row])


async def find(connection: AsyncConnection, schedule_id: int, due_at: datetime) -> ScheduleTickRow | None:
    """The row of a tick."""
    wanted = (tick.c.schedule_id == schedule_id, tick.c.due_at == due_at)
    return first_of(ScheduleTickRow, await connection.execute(select(tick).where(*wanted)))


def of_schedule(schedule_id: int) -> Listing[ScheduleTickRow]:
    """The ticks of a schedule, the latest first."""
    statement = select(tick).where(tick.c.schedule_id == schedule_id)
    return Listing(statement.order_by(tick.c.due_at.desc(), tick.c.id.desc()), ScheduleTickRow)


async def latest(
    connection: AsyncConnection, schedule_ids: Sequence[int], count: int
) -> dict[int, list[ScheduleTickRow]]:
    """The latest ticks of each schedule, `count` at most, the latest first."""
    place = func.row_number().over(partition_by=tick.c.schedule_id, order_by=(tick.c.due_at.desc(), tick.c.id.desc()))
    of_all = select(tick.c.id, place.label("place")).where(tick.c.schedule_id.in_(list(schedule_ids))).subquery()
    statement = select(tick).join(of_all, of_all.c.id == tick.c.id).where(of_all.c.place <= count)
    found: dict[int, list[ScheduleTickRow]] = {}
    for row in all_of(ScheduleTickRow, await connection.execute(statement.order_by(of_all.c.place))):
        found.setdefault(row.schedule_id, []).append(row)
    return found


async def missed(connection: AsyncConnection, schedule_ids: Sequence[int], since: datetime) -> dict[int, int]:
    """How many ticks of each schedule were missed that were due since a moment; those without any are left out."""
    wanted = (tick.c.schedule_id.in_(list(schedule_ids)), tick.c.due_at >= since, tick.c.outcome == Outcome.MISSED)
    statement = select(tick.c.schedule_id, func.count()).where(*wanted).group_by(tick.c.schedule_id)
    return {row[0]: int(row[1]) for row in await connection.execute(statement)}


def made_by(schedule_id: int, pipelines: Listing[PipelineRow]) -> Listing[PipelineRow]:
    """A statement for pipelines, narrowed to those that a schedule has made."""
    mine = select(tick.c.pipeline_id).where(tick.c.schedule_id == schedule_id, tick.c.pipeline_id.is_not(None))
    return Listing(pipelines.statement.where(pipeline.c.id.in_(mine)), pipelines.kind)


async def last_pipeline(connection: AsyncConnection, schedule_id: int) -> PipelineRow | None:
    """The newest pipeline that a schedule has made."""
    newest = select(func.max(tick.c.pipeline_id)).where(tick.c.schedule_id == schedule_id).scalar_subquery()
    return first_of(PipelineRow, await connection.execute(select(*PIPELINE).where(pipeline.c.id == newest)))


async def overdue(connection: AsyncConnection, before: datetime) -> Sequence[int]:
    """Schedules with ticks that were due before a moment and have no row yet."""
    statement = select(schedule.c.id).where(schedule.c.next_tick_at < before).order_by(schedule.c.id)
    return (await connection.execute(statement)).scalars().all()


async def release(connection: AsyncConnection, now: datetime) -> Sequence[int]:
    """Ticks that wait have their turn if nothing of their schedule runs any more; give back the schedules."""
    waiting = select(tick.c.schedule_id).where(tick.c.outcome == Outcome.WAITING).distinct()
    found = (await connection.execute(waiting)).scalars().all()
    released: list[int] = []
    for schedule_id in sorted(found):
        await lock(connection, schedule_id)
        standing = await _standing(connection, schedule_id)
        if standing.runs or standing.to_make:
            continue
        turn = (tick.c.schedule_id == schedule_id, tick.c.outcome == Outcome.WAITING)
        values = {"outcome": Outcome.DUE.value, "reason": "", "not_before": now, "updated_at": now}
        await connection.execute(update(tick).where(*turn).values(**values))
        released.append(schedule_id)
    return released


async def waits(connection: AsyncConnection) -> bool:
    """Whether any tick waits for the end of a pipeline."""
    statement = select(tick.c.id).where(text(OPEN_TICK), tick.c.outcome == Outcome.WAITING).limit(1)
    return (await connection.execute(statement)).first() is not None


async def due(connection: AsyncConnection, now: datetime, limit: int) -> Sequence[ScheduleTickRow]:
    """Ticks whose pipeline is to be made now, which no other process is making."""
    statement = select(tick).where(text(OPEN_TICK), tick.c.outcome == Outcome.DUE, tick.c.not_before <= now)
    statement = statement.order_by(tick.c.id).limit(limit).with_for_update(skip_locked=True)
    return all_of(ScheduleTickRow, await connection.execute(statement))


async def hold(connection: AsyncConnection, ids: Sequence[int], until: datetime) -> None:
    """Keep ticks from other processes for a while."""
    await connection.execute(update(tick).where(tick.c.id.in_(list(ids))).values(not_before=until))


async def settle(
    connection: AsyncConnection,
    tick_id: int,
    outcome: Outcome,
    now: datetime,
    *,
    reason: str = "",
    pipeline_id: int | None = None,
) -> None:
    """The last word on a tick that was due."""
    values = {"outcome": outcome.value, "reason": reason, "pipeline_id": pipeline_id, "updated_at": now}
    await connection.execute(update(tick).where(tick.c.id == tick_id).values(**values))


async def is_due(connection: AsyncConnection, row: ScheduleTickRow) -> bool:
    """Whether a tick is still to be made; nobody else changes that until the transaction ends."""
    if await lock(connection, row.schedule_id) is None:
        return False
    still = exists().where(tick.c.id == row.id, tick.c.outcome == Outcome.DUE)
    return bool((await connection.execute(select(still))).scalar())


async def back_off(connection: AsyncConnection, row: ScheduleTickRow, reason: str, now: datetime) -> None:
    """Try this tick again later: after 1 s, 2 s, 4 s ... a minute."""
    pause = timedelta(seconds=min(60, 2 ** min(row.attempts, 6)))
    values = {"attempts": row.attempts + 1, "not_before": now + pause, "reason": reason[:500]}
    await connection.execute(update(tick).where(tick.c.id == row.id, tick.c.outcome == Outcome.DUE).values(**values))
