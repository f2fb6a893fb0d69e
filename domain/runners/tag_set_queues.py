"""The queue by tag sets, for who administers the installation and for who only has projects in it.

Somebody who only has projects sees the tag sets that these use, and counted there every job that their own ones
compete with: what one waits behind, without whose it is.
"""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TypeAlias

from domain.pipelines.stuck import why_stuck
from domain.runners.in_reach import RunnersInReach
from domain.runners.matching import Candidate, Demand, may_take
from domain.runners.named_runner import NamedRunner, candidates_of
from domain.runners.waits import Waits, measured

Tags: TypeAlias = frozenset[str]


@dataclass(frozen=True, slots=True)
class Lately:
    """Jobs of one demand: how many wait, for how many seconds the first of them has, and what others had waited."""

    demand: Demand
    jobs: int = 0
    waited: float = 0.0
    waits: Sequence[float] = ()


@dataclass(frozen=True, slots=True)
class RunnerTally:
    """Runners that may take some of the asker's own jobs; of those that are `online`, `busy` hold so many `jobs`."""

    online: int = 0
    busy: int = 0
    paused: int = 0
    offline: int = 0
    jobs: int = 0


@dataclass(frozen=True, slots=True)
class TagSetQueue:
    """The queue of one tag set. `own` of its jobs are of the projects of whoever asks.

    `waited` is how many seconds the oldest job has. `stuck` jobs are of demands that no runner takes; `why` is said of
    the oldest of them that is the asker's own. `runner_ids` are those that `runners` counts: not everybody
    may know which they are.
    """

    tags: tuple[str, ...]
    jobs: int
    own: int
    waited: float
    stuck: int
    why: str
    runners: RunnerTally
    waits: Waits | None
    runner_ids: tuple[int, ...] = ()


@dataclass(slots=True)
class _Seen:
    """The demands of a tag set: those of whoever asks, and all that count."""

    own: list[Lately] = field(default_factory=list)
    all: list[Lately] = field(default_factory=list)


def tag_set_queues(
    found: Iterable[Lately], runners: Sequence[NamedRunner], own: AbstractSet[int] | None
) -> list[TagSetQueue]:
    """The queue by tags, what has waited longest first. `own` are the projects of whoever asks, None for all."""
    kinds = tuple(dict.fromkeys(candidates_of(runners)))
    able = _Able(kinds)
    seen: dict[Tags, _Seen] = {}
    others: dict[Tags, list[Lately]] = {}
    for one in found:
        if own is None or one.demand.project_id in own:
            group = seen.setdefault(one.demand.tags, _Seen())
            group.own.append(one)
            group.all.append(one)
        else:
            others.setdefault(one.demand.tags, []).append(one)
    for tags, group in seen.items():
        shared = able.of_all(group.own)
        group.all += [one for one in others.get(tags, ()) if shared & able.of(one.demand)]
    rows = [_row(tags, group, able, runners) for tags, group in seen.items()]
    return sorted(rows, key=lambda row: (-row.waited, row.tags))


class _Able:
    """Which kinds of runners may take the jobs of a demand, were they not paused or silent; each is looked at once."""

    def __init__(self, kinds: Sequence[Candidate]) -> None:
        self._reach = RunnersInReach(kinds)
        self._known: dict[Demand, frozenset[Candidate]] = {}

    def of(self, demand: Demand) -> frozenset[Candidate]:
        if demand not in self._known:
            near = self._reach.near(demand)
            self._known[demand] = frozenset(kind for kind in near if may_take(demand, _resumed(kind)))
        return self._known[demand]

    def of_all(self, found: Iterable[Lately]) -> frozenset[Candidate]:
        return frozenset(chain.from_iterable(self.of(one.demand) for one in found))


def _resumed(kind: Candidate) -> Candidate:
    return replace(kind, paused=False) if kind.paused else kind


def _row(tags: Tags, group: _Seen, able: _Able, runners: Sequence[NamedRunner]) -> TagSetQueue:
    kinds = able.of_all(group.own)
    stuck = _stuck(group.all, able)
    oldest = max(_stuck(group.own, able), key=lambda one: one.waited, default=None)
    able_ones = [one for one in runners if one.candidate in kinds]
    return TagSetQueue(
        tags=tuple(sorted(tags)),
        jobs=sum(one.jobs for one in group.all),
        own=sum(one.jobs for one in group.own),
        waited=max((one.waited for one in group.all if one.jobs), default=0.0),
        stuck=sum(one.jobs for one in stuck),
        why="" if oldest is None else why_stuck(oldest.demand, candidates_of(runners)),
        runners=_tally(able_ones),
        waits=measured([wait for one in group.all for wait in one.waits]),
        runner_ids=tuple(one.id for one in able_ones),
    )


def _stuck(found: Iterable[Lately], able: _Able) -> list[Lately]:
    """Those that wait and that no runner takes."""
    return [one for one in found if one.jobs and not any(_is_there(kind) for kind in able.of(one.demand))]


def _is_there(kind: Candidate) -> bool:
    return kind.online and not kind.paused


def _tally(runners: Iterable[NamedRunner]) -> RunnerTally:
    """A paused runner counts as such whether it is heard of or not."""
    found = list(runners)
    there = [one for one in found if _is_there(one.candidate)]
    return RunnerTally(
        online=len(there),
        busy=sum(one.holds > 0 for one in there),
        paused=sum(one.candidate.paused for one in found),
        offline=sum(not one.candidate.online and not one.candidate.paused for one in found),
        jobs=sum(one.holds for one in there),
    )
