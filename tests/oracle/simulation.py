"""GitLab's processing of pipelines, small and slow: a world of pipelines, what happens to it, what it then may be.

Where GitLab leaves something open (who of several waiting jobs gets a freed slot; what of two things that happen at the
same moment comes first, and whether a pass of processing falls between them) there are several worlds afterwards, and
each of them is right. Nothing here is taken from the product.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from tests.oracle.events import Event, apply
from tests.oracle.passes import settle, with_children, with_one_bridge
from tests.oracle.stopping import strike
from tests.oracle.world import World

_Way: TypeAlias = tuple[World, tuple[tuple[int, bool], ...]]
"""A world, and which events were accepted on the way to it."""


def happen(world: World, events: Sequence[Event]) -> list[tuple[World, tuple[bool, ...]]]:
    """All worlds in which events of one moment may end, each with which of the events were accepted.

    One event: one order. Several: every order, with and without a pass of processing between two of them.
    A failure that comes with a cancel may have no further attempt (`docs/seam.md`, "Who writes which status").
    """
    world = world.copy()
    world.moment += 1
    aimed = [_aimed(world, event) for event in events]
    found = _in_any_order(world, aimed)
    if any(map(_cancels, events)) and any(event.kind == "drop" for event in events):
        found |= _in_any_order(world, [replace(event, is_last=event.kind == "drop") for event in aimed])
    return list(found.values())


def _cancels(event: Event) -> bool:
    return event.kind in {"cancel", "cancel_pipeline", "newer_commit"}


def _in_any_order(world: World, events: Sequence[Event]) -> dict[object, tuple[World, tuple[bool, ...]]]:
    """The ends by what can be told of them."""
    ways: dict[object, _Way] = {None: (world, ())}
    for _ in events:
        later: dict[object, _Way] = {}
        for before, answers in ways.values():
            for number in set(range(len(events))) - dict(answers).keys():
                now = before.copy()
                told = (*answers, (number, apply(now, events[number])))
                between = _BETWEEN if len(told) < len(events) else (settle,)
                for after in (end for go_on in between for end in go_on(now.copy())):
                    later.setdefault((after.seen(), tuple(sorted(told))), (after, tuple(sorted(told))))
        ways = later
    return {key: (after, tuple(answer for _, answer in told)) for key, (after, told) in ways.items()}


def _aimed(world: World, event: Event) -> Event:
    """The event with the attempt that is meant."""
    run = world.runs.get(event.run)
    if event.attempt or run is None or event.job not in run.jobs:
        return event
    return replace(event, attempt=run.jobs[event.job].number)


def one_after_the_other(world: World, events: Sequence[Event]) -> list[tuple[World, tuple[bool, ...]]]:
    """As `happen`, in this order and without a pass between."""
    after = world.copy()
    after.moment += 1
    answers = tuple([apply(after, event) for event in [_aimed(world, event) for event in events]])
    return [(end, answers) for end in settle(after)]


def _nothing(world: World) -> list[World]:
    return [world]


def _canceled(world: World) -> list[World]:
    strike(world)
    return [world]


def _folded(world: World) -> list[World]:
    for run in world.runs.values():
        run.fold()
    return [world]


def _passed(world: World) -> list[World]:
    while any([run.process() for run in world.runs.values()]):  # noqa: C419  # all of them
        pass
    return _folded(world)


def _passed_by(world: World) -> list[World]:
    while any([run.process(fresh=False) for run in world.runs.values()]):  # noqa: C419  # all of them
        pass
    return _folded(world)


def _slotted(world: World) -> list[World]:
    return settle(world, bridges=False)


Between: TypeAlias = Callable[[World], list[World]]
_BETWEEN: Final[Sequence[Between]] = (
    _nothing,
    _canceled,
    _folded,
    _passed_by,
    _passed,
    with_children,
    with_one_bridge,
    _slotted,
    settle,
)
"""What may come between two events of a moment: nothing, the cancel after a failure, a look at all jobs, a pass (which
sees what was only just made, or not yet), some of the new children and of theirs, one bridge of several above one
another, what follows with slots and new children, or all of it, bridges included."""
