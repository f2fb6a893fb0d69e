"""A pipeline schedule as a page shows it: when it ticks in words, what comes next, and what became of it lately."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from api.services import Services
from application.access import ProjectAccess
from application.schedules.schedule_access import ScheduleAccess
from auth.permissions import ScheduleAction
from domain.errors import Invalid
from domain.schedules.cron import Cron, parse, parse_stored
from domain.schedules.cron_ticks import coming
from domain.schedules.cron_words import in_words
from domain.schedules.ticks import Outcome, short_ref
from models.repositories.pipelines import pipelines, schedule_ticks
from models.repositories.projects import relations
from models.rows.accounts import UserRow
from models.rows.pipelines import PipelineRow
from models.rows.schedules import PipelineScheduleRow, ScheduleTickRow
from models.time_zones import zone_of

NEXT: Final = 5
"""Ticks to come that are shown."""
LAST: Final = 5
"""Ticks that have been that are shown in the list."""
LATELY: Final = timedelta(days=30)
"""For so long missed ticks are counted."""

OUTCOMES: Final[Mapping[str, tuple[str, str]]] = {
    Outcome.DUE: ("pending", "Due"),
    Outcome.WAITING: ("pending", "Waiting"),
    Outcome.STARTED: ("success", "Started"),
    Outcome.BY_HAND: ("success", "Run by hand"),
    Outcome.FAILED: ("failed", "No pipeline"),
    Outcome.SKIPPED: ("skipped", "Skipped"),
    Outcome.MISSED: ("success-with-warnings", "Missed"),
}
"""How an outcome looks: the group of states whose colour and glyph it has, and its word."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A tick to come, and how the clocks of its zone show it."""

    at: datetime
    shown: str


@dataclass(frozen=True, slots=True)
class Told:
    """When a schedule ticks. `faults` are there in place of it where something is wrong."""

    words: str = ""
    coming: tuple[Moment, ...] = ()
    faults: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Past:
    """A tick that has been, with the pipeline that it made."""

    tick: ScheduleTickRow
    pipeline: PipelineRow | None


@dataclass(frozen=True, slots=True)
class Shown:
    """A schedule, and what the caller may do with it. `missed` are the ticks of the last 30 days."""

    row: PipelineScheduleRow
    ref: str
    is_tag: bool
    told: Told
    owner: UserRow | None
    past: tuple[Past, ...]
    missed: int
    may: Mapping[str, bool]


def told(cron: str, zone: str, now: datetime, read: Callable[[str], Cron] = parse) -> Told:
    """When an expression ticks from now on, or what is wrong with it or with its zone."""
    faults: dict[str, str] = {}
    rule = clock = None
    try:
        rule = read(cron)
    except Invalid as error:
        faults["cron"] = str(error)
    try:
        clock = zone_of(rule.zone if rule is not None and rule.zone else zone)
    except Invalid as error:
        faults["cron_timezone"] = str(error)
    if rule is None or clock is None:
        return Told(faults=faults)
    moments = coming(rule, clock, now, NEXT)
    if not moments:
        return Told(faults={"cron": "cron is wrong: none of its months has such a day, so it would never run."})
    shown = (Moment(at, f"{at.astimezone(clock):%a, %-d %b %Y, %H:%M}") for at in moments)
    return Told(in_words(rule), tuple(shown))


async def shown_schedules(
    services: Services, project: ProjectAccess, rows: Sequence[PipelineScheduleRow]
) -> list[Shown]:
    """Schedules of a project as the caller may see them."""
    now, ids = services.clock(), [row.id for row in rows]
    async with services.database.read() as connection:
        people = await relations.users(connection, (row.owner_id for row in rows))
        ticks = await schedule_ticks.latest(connection, ids, LAST)
        missed = await schedule_ticks.missed(connection, ids, now - LATELY)
        made = {tick.pipeline_id for of_one in ticks.values() for tick in of_one if tick.pipeline_id is not None}
        found = {row.id: row for row in await pipelines.by_ids(connection, made)}
    return [
        Shown(
            row=row,
            ref=short_ref(row.ref)[0],
            is_tag=short_ref(row.ref)[1],
            told=told(row.cron, row.cron_timezone, now, parse_stored),
            owner=None if row.owner_id is None else people.get(row.owner_id),
            past=tuple(_past(tick, found) for tick in ticks.get(row.id, ())),
            missed=missed.get(row.id, 0),
            may=rights(ScheduleAccess(row, project)),
        )
        for row in rows
    ]


def _past(tick: ScheduleTickRow, found: Mapping[int, PipelineRow]) -> Past:
    return Past(tick, None if tick.pipeline_id is None else found.get(tick.pipeline_id))


def past_of(ticks: Sequence[ScheduleTickRow], found: Mapping[int, PipelineRow]) -> list[Past]:
    """Ticks with the pipelines that are still there."""
    return [_past(tick, found) for tick in ticks]


def rights(access: ScheduleAccess) -> Mapping[str, bool]:
    """What the caller may do with a schedule."""
    return {
        "play": access.is_open(ScheduleAction.PLAY),
        "change": access.is_open(ScheduleAction.CHANGE),
        "delete": access.is_open(ScheduleAction.ADMINISTER),
        "take": access.is_open(ScheduleAction.ADMINISTER) and not access.is_mine,
    }
