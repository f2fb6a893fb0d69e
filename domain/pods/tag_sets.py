"""Tag sets: the lists of tags that jobs of an organisation ask for, and those that the runners of a pod serve.

An organisation that moves takes its own runners along, those of its groups and projects; those of the instance stay.
What its pipelines used lately and nobody in the other pod could run is told before it moves (docs/pods.md, "Tags and
the admin area").
"""

import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, TypeAlias

from domain.runners.in_reach import Availability, RunnersInReach
from domain.runners.matching import (
    Candidate,
    Demand,
    RunnerType,
    has_tags,
    is_trusted,
    may_share_user,
    reaches,
    takes_untagged,
)

TagSet: TypeAlias = tuple[str, ...]
"""Sorted, each tag once; empty for jobs without tags."""


@dataclass(frozen=True, slots=True)
class Use:
    """Jobs that asked for the same: how many, and when the last one was made."""

    demand: Demand
    jobs: int
    last_used_at: datetime


@dataclass(frozen=True, slots=True)
class UsedTagSet:
    """Jobs that are alike in their tags, in whether their ref is protected, and in what may take them.

    `instance_runners`: their projects let runners of the instance take them. `here` is what becomes of them in the pod
    where they are, `own` what would with the runners of the organisation alone.
    """

    tags: TagSet
    ref_protected: bool
    instance_runners: bool
    here: Availability
    own: Availability
    jobs: int
    last_used_at: datetime


@dataclass(frozen=True, slots=True)
class ServedTagSet:
    """Runners that are alike in what they take; each of them counts in one of `available`, `silent` and `paused`."""

    tags: TagSet
    runner_type: RunnerType
    run_untagged: bool
    ref_protected: bool
    as_server: bool
    available: int
    silent: int
    paused: int


@dataclass(frozen=True, slots=True)
class Unserved:
    """Jobs of one tag set that no runner takes at once, and why, in words that follow on `cannot run there: `."""

    tags: TagSet
    availability: Availability
    jobs: int
    last_used_at: datetime
    why: str


def tag_set(tags: Iterable[str]) -> TagSet:
    """Tags in the form that is equal when the tags are."""
    return tuple(sorted(set(tags)))


def used_tag_sets(uses: Iterable[Use], runners: Sequence[Candidate]) -> list[UsedTagSet]:
    """What an organisation used, with what becomes of it; `runners` are all of the pod that it lives in."""
    everybody = RunnersInReach(runners)
    own = RunnersInReach(runner for runner in runners if runner.runner_type is not RunnerType.INSTANCE)
    found: dict[tuple[Any, ...], UsedTagSet] = {}
    for use in uses:
        demand = use.demand
        alike = UsedTagSet(
            tag_set(demand.tags),
            demand.protected,
            demand.instance_runners,
            everybody.availability(demand),
            own.availability(demand),
            use.jobs,
            use.last_used_at,
        )
        key = (alike.tags, alike.ref_protected, alike.instance_runners, alike.here, alike.own)
        known = found.get(key)
        found[key] = alike if known is None else _joined(known, alike)
    return [found[key] for key in sorted(found)]


def _joined(one: UsedTagSet, other: UsedTagSet) -> UsedTagSet:
    last = max(one.last_used_at, other.last_used_at)
    return replace(one, jobs=one.jobs + other.jobs, last_used_at=last)


def served_tag_sets(rows: Iterable[ServedTagSet]) -> list[ServedTagSet]:
    """The same, each kind of runners once: the order in which their tags were given does not matter."""
    found: dict[tuple[Any, ...], ServedTagSet] = {}
    for row in rows:
        row = replace(row, tags=tag_set(row.tags))
        key = (row.tags, row.runner_type, row.run_untagged, row.ref_protected, row.as_server)
        known = found.get(key)
        found[key] = row if known is None else _summed(known, row)
    return [found[key] for key in sorted(found)]


def _summed(one: ServedTagSet, other: ServedTagSet) -> ServedTagSet:
    return replace(
        one,
        available=one.available + other.available,
        silent=one.silent + other.silent,
        paused=one.paused + other.paused,
    )


def needed_elsewhere(used: Iterable[UsedTagSet]) -> list[Use]:
    """What the organisation needs of a pod that it comes to: all that its own runners do not take.

    There it is among people of others, and no administrator has let its projects run as the server's user yet.
    """
    return [
        Use(
            Demand(
                project_id=0,
                tags=frozenset(one.tags),
                protected=one.ref_protected,
                instance_runners=one.instance_runners,
                others=True,
            ),
            one.jobs,
            one.last_used_at,
        )
        for one in used
        if one.own is Availability.NONE
    ]


def offered_to_all(served: Iterable[ServedTagSet]) -> list[Candidate]:
    """The runners of a pod that take jobs of every organisation, one for each kind and state."""
    return [
        Candidate(
            tags=frozenset(one.tags),
            run_untagged=one.run_untagged,
            ref_protected=one.ref_protected,
            as_server=one.as_server,
            paused=state is Availability.PAUSED,
            online=state is Availability.AVAILABLE,
        )
        for one in served
        if one.runner_type is RunnerType.INSTANCE
        for state, number in (
            (Availability.AVAILABLE, one.available),
            (Availability.SILENT, one.silent),
            (Availability.PAUSED, one.paused),
        )
        if number
    ]


def unserved(uses: Iterable[Use], runners: Sequence[Candidate]) -> list[Unserved]:
    """The tag sets of which these runners take no job, or none while they are as they are; by tags.

    Of each the jobs that fare worst count.
    """
    reach = RunnersInReach(runners)
    found: dict[TagSet, Unserved] = {}
    for use in uses:
        availability = reach.availability(use.demand)
        if availability is Availability.AVAILABLE:
            continue
        tags = tag_set(use.demand.tags)
        known = found.get(tags)
        if known is None or known.availability.rank < availability.rank:
            why = _why(use.demand, tuple(reach.near(use.demand)))
            found[tags] = Unserved(tags, availability, use.jobs, use.last_used_at, why)
        elif known.availability is availability:
            last = max(known.last_used_at, use.last_used_at)
            found[tags] = replace(known, jobs=known.jobs + use.jobs, last_used_at=last)
    return [found[tags] for tags in sorted(found)]


_SIEVES: Final[tuple[tuple[Callable[[Demand, Candidate], bool], str], ...]] = (
    (reaches, "their projects take no runners of the instance, and their own do not fit"),
    (has_tags, "no runner there has all of these tags"),
    (takes_untagged, "no runner there takes jobs without tags"),
    (is_trusted, "the runners that fit there take only jobs of protected refs"),
    (may_share_user, "the runners that fit there run jobs as the server's user, which an administrator must permit"),
    (lambda _, runner: not runner.paused, "the runners that fit there are paused"),
    (lambda _, runner: runner.online, "the runners that fit there are silent: no call came for too long"),
)


def _why(demand: Demand, left: tuple[Candidate, ...]) -> str:
    """Why none of these takes the job now: what the first sieve says through which none of those left falls."""
    if not left and demand.instance_runners:
        return "there is no runner of the instance"
    for fits, text in _SIEVES:
        left = tuple(runner for runner in left if fits(demand, runner))
        if not left:
            return text
    return ""


def named(tags: TagSet) -> str:
    """A tag set in a sentence."""
    return f"Tag set {', '.join(tags)}" if tags else "Jobs without tags"


def warning(one: Unserved, pod: str, days: int) -> str:
    """What a person is told of a tag set before an organisation comes to the pod of this name."""
    jobs = f"{one.jobs} {'job' if one.jobs == 1 else 'jobs'} in the last {days} days"
    last = f"the last on {one.last_used_at.date().isoformat()}"
    what = "cannot run" if one.availability is Availability.NONE else "would wait"
    text = f"{named(one.tags)}: {jobs}, {last}, {what} in pod {pod}: {one.why}. "
    if one.availability is not Availability.NONE:
        return text + "Bring one of them back before the organisation comes."
    options = ["--for", "instance", *(word for tag in one.tags for word in ("--tag", tag))]
    command = shlex.join(["perdure", "runner", "create", *options])
    return text + f"Register one there (`{command}`), or one of the organisation's own before it comes."
