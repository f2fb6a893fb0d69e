"""What jobs in the queue wait for: read for many at once, decided by `domain.runners` and `domain.pipelines.stuck`."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

from sqlalchemy.ext.asyncio import AsyncConnection

from domain.pipelines.stuck import stuck
from domain.runners.matching import Demand, may_take
from domain.runners.named_runner import NamedRunner, candidates_of
from domain.runners.nearest import nearest
from domain.runners.places import Queued
from domain.runners.waits import expected
from domain.why.known import RunnerWait
from models.repositories.queue import demands, recent_waits, tag_sets, waiting_jobs


class QueuedJob(Protocol):
    """A job in the queue."""

    @property
    def id(self) -> int:
        """Its id."""

    @property
    def demand_id(self) -> int:
        """What it asks of a runner."""

    @property
    def queued_at(self) -> datetime | None:
        """Since when it waits."""


@dataclass(frozen=True, slots=True)
class _Around:
    """What all jobs of a look have in common. `waits` are those of lately, by tags and by demand."""

    demands: Mapping[int, Demand]
    runners: Sequence[NamedRunner]
    waits: Mapping[frozenset[str], Mapping[int, Sequence[float]]]


async def of_jobs(
    connection: AsyncConnection, rows: Sequence[QueuedJob], now: datetime, online: float, *, names: bool
) -> Mapping[int, RunnerWait]:
    """What each of these pending jobs waits for, by id; runners have names only if `names` may be told."""
    if not rows:
        return {}
    runners = await waiting_jobs.named_runners(connection, now, online)
    queue = await recent_waits.queue(connection)
    own = {row.demand_id for row in rows}
    known = await tag_sets.read(connection, own | queue.keys())
    waits = await _waits(connection, {known[key].tags for key in own if key in known}, now)
    earlier = {key for by_demand in waits.values() for key in by_demand} - known.keys()
    known = {**known, **await tag_sets.read(connection, earlier)}
    queued = Queued(known, queue, candidates_of(runners), await recent_waits.loads(connection))
    around = _Around(known, runners, waits)
    alike = {key: _of_demand(known[key], around, names=names) for key in own if key in known}
    rising = {key: _such(known[key], around) for key in alike}
    found: dict[int, RunnerWait] = {}
    for row in rows:
        if row.demand_id in alike:
            waited = 0.0 if row.queued_at is None else max(0.0, (now - row.queued_at).total_seconds())
            place = queued.place(row.id, known[row.demand_id])
            longer = expected(rising[row.demand_id], waited)
            found[row.id] = replace(alike[row.demand_id], waited=waited, place=place, expected=longer)
    return found


async def _waits(
    connection: AsyncConnection, tag_lists: Iterable[frozenset[str]], now: datetime
) -> Mapping[frozenset[str], Mapping[int, Sequence[float]]]:
    """Of one list of tags only its own are read; of more all, once."""
    wanted = set(tag_lists)
    if len(wanted) == 1:
        (tags,) = wanted
        return {tags: await recent_waits.of_tags(connection, demands.tag_key(tags), now)}
    found = await recent_waits.of_all(connection, now)
    known = await tag_sets.read(connection, found)
    return {tags: {key: found[key] for key, one in known.items() if one.tags == tags} for tags in wanted}


def _of_demand(demand: Demand, around: _Around, *, names: bool) -> RunnerWait:
    """What is the same for all jobs of a demand."""
    found = stuck(demand, candidates_of(around.runners))
    able = [one for one in around.runners if one.candidate.online and may_take(demand, one.candidate)]
    return RunnerWait(
        waited=0.0,
        stuck=found,
        nearest=nearest(demand, around.runners) if found is not None and names else None,
        able=len(able),
        busy=sum(one.holds > 0 for one in able),
        instance_runners=demand.instance_runners,
        tags=tuple(sorted(demand.tags)),
        project_path=demand.project_path,
    )


def _such(demand: Demand, around: _Around) -> list[float]:
    """The waits of jobs with the same tags that a runner took which may take this one, too; the shortest first."""
    kinds = {one.candidate for one in around.runners if may_take(demand, one.candidate)}
    return sorted(
        wait
        for key, waits in around.waits.get(demand.tags, {}).items()
        if key in around.demands and any(may_take(around.demands[key], kind) for kind in kinds)
        for wait in waits
    )
