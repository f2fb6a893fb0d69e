"""Passes of processing until all rests, with what bridges and resource groups do meanwhile."""

from collections.abc import Mapping, Sequence
from typing import Final

from tests.oracle.composite import COMPLETE
from tests.oracle.stopping import failed_for_good, strike
from tests.oracle.world import Attempt, Run, World

HOLDING: Final = frozenset({"pending", "running", "canceling"})
FOLLOWED: Final[Mapping[str, Mapping[str, str]]] = {
    "depend": {"success": "success", "failed": "failed", "skipped": "failed", "canceled": "canceled"},
    "mirror": {
        "success": "success", "failed": "failed", "skipped": "skipped", "canceled": "canceled", "manual": "manual"
    },
}  # fmt: skip
"""What a bridge becomes when its child has become something; what is not listed changes nothing."""


def settle(world: World, *, bridges: bool = True) -> list[World]:
    """All worlds that this one may come to rest in; it is changed itself. Do `bridges` hear of it, too?

    Whether a job that is about to get a slot is seen waiting for it is open, so both are worlds; and so is whether a
    slot is given before a bridge that is ready has made its child, whose jobs may want it, too.
    """
    changed = True
    while changed:
        strike(world)
        if (early := _processed(world)) is not None:
            return _each(early, bridges=bridges)
        choice = _free_slot(world)
        if choice is not None:
            shown = world.copy()
            _fold(shown)
            group, who = choice
            worlds = [_with_slot(before, group, one) for before in (world, shown) for one in who]
            return _each([*worlds, shown] if bridges and _follow(shown) else worlds, bridges=bridges)
        for run in world.runs.values():
            run.fold()
            for attempt in run.jobs.values():
                attempt.fresh = False
        if not bridges:
            return [world]
        stirred = [run.key for run in world.runs.values() if run.stirred]
        for key in stirred:
            world.runs[key].stirred = False
            if (again := _seen_alive(world, key)) is not None:
                return _each([world, again], bridges=True)
        changed = _follow(world)
        world.kept = frozenset() if changed else world.kept
    return [world]


def _each(worlds: Sequence[World], *, bridges: bool) -> list[World]:
    """What any of these may come to rest in."""
    return list({one.seen(): one for world in worlds for one in settle(world, bridges=bridges)}.values())


def _with_slot(world: World, group: str, chosen: tuple[str, str] | None) -> World:
    after = world.copy()
    if chosen is None:
        after.kept = world.kept | {group}
    else:
        after.runs[chosen[0]].jobs[chosen[1]].status = "pending"
    return after


def _seen_alive(world: World, key: str) -> World | None:
    """The world in which a bridge has seen that its child lived again for a moment; None if it will see it for sure."""
    run = world.runs[key]
    bridge = world.bridge_of(run)
    if (
        bridge is None
        or bridge.status not in COMPLETE - {"skipped"}
        or run.status not in COMPLETE
        or run.parent is None
    ):
        return None
    after = world.copy()
    _follow_again(after, after.runs[run.parent[0]], run.parent[1])
    return after


def _processed(world: World) -> list[World] | None:
    """Let jobs go on and bridges make their children; all worlds there are if a slot may be given before a child."""
    while True:
        _go_on(world)
        ready = _ready(world)
        if not ready:
            return None
        choice = _free_slot(world)
        early = [] if choice is None else [_with_slot(world, choice[0], one) for one in choice[1] if one is not None]
        _trigger(world, ready)
        world.kept = frozenset()
        if early:
            return [world, *early]


def with_children(world: World) -> list[World]:
    """Jobs have gone on and bridges, some or all, made their children, who may have begun and made children, too."""
    _go_on(world)
    found: dict[object, World] = {}
    waiting = [world]
    while waiting:
        before = waiting.pop()
        for number in range(len(_ready(before))):
            made = before.copy()
            _trigger(made, [_ready(made)[number]])
            begun = made.copy()
            _go_on(begun)
            _fold(made)
            found.setdefault(made.seen(), made)
            shown = begun.copy()
            _fold(shown)
            if found.setdefault(shown.seen(), shown) is shown:
                waiting.append(begun)
    return list(found.values())


def with_one_bridge(world: World) -> list[World]:
    """Jobs have gone on and bridges heard of their children, but no bridge above heard of those bridges' pipelines."""
    _go_on(world)
    _fold(world)
    _follow(world)  # what it changes is folded only after it, so nobody above hears of it
    _fold(world)
    return [world]


def _go_on(world: World) -> None:
    """Let jobs go on until none does; a slot that was kept is looked at anew."""
    while any([run.process() for run in world.runs.values()]):  # noqa: C419  # all of them
        world.kept = frozenset()


def _fold(world: World) -> None:
    for run in world.runs.values():
        run.fold()


def _ready(world: World) -> list[tuple[Run, Attempt]]:
    """The bridges whose turn it is to make a child."""
    return [
        (run, attempt)
        for run in world.runs.values()
        for attempt in run.jobs.values()
        if attempt.job.bridge and attempt.status == "pending"
    ]


def _trigger(world: World, ready: Sequence[tuple[Run, Attempt]]) -> None:
    for run, attempt in ready:
        if not attempt.child:
            attempt.child = f"{run.key}/{attempt.job.name}#{attempt.number}"
            world.add(world.files[attempt.job.child], attempt.child, (run.key, attempt.job.name))
        if not attempt.follows:
            world.runs[attempt.child].ended = False
        attempt.status, attempt.follows = ("running", True) if attempt.job.strategy else ("success", False)
        world.runs[attempt.child].told = ""


def _follow(world: World) -> bool:
    """Let bridges become what their children have become; whether any changed.

    One that has ended and whose child lives again gets a further attempt that follows the same child, where GitLab
    opens the row again; and `mirror` gives up `manual` when the child goes on (`docs/decisions/0009`).
    """
    changed = False
    for run in list(world.runs.values()):
        bridge = world.bridge_of(run)
        if bridge is None or run.parent is None or run.told == run.status:
            continue
        run.told = run.status
        upstream = world.runs[run.parent[0]]
        if bridge.status in COMPLETE:
            if run.ended and run.status not in COMPLETE and bridge.status != "skipped":
                changed = True
                _follow_again(world, upstream, bridge.job.name)
            continue
        to = FOLLOWED[bridge.job.strategy].get(run.status, "running")
        if bridge.status in {"running", "manual"} and to != bridge.status:
            changed = True
            bridge.status = to
            if to == "failed":
                failed_for_good(upstream, bridge)
    return changed


def _follow_again(world: World, upstream: Run, name: str) -> None:
    """A further attempt of a bridge that follows the same child, which has not ended for that attempt."""
    child = upstream.jobs[name].child
    upstream.again(upstream.jobs[name], at_once=True)
    upstream.jobs[name].child, upstream.jobs[name].follows = child, True
    world.runs[child].ended = False
    upstream.reset(name)


def _free_slot(world: World) -> tuple[str, list[tuple[str, str] | None]] | None:
    """A group whose slot is free and wanted, and who may get it, as (pipeline, job); None if there is no such group."""
    grouped = [(run, a) for run in world.runs.values() for a in run.jobs.values() if a.job.group]
    held = {
        a.job.group for _, a in grouped if a.status in HOLDING or (a.job.bridge and a.status == "manual" and a.follows)
    }
    held |= {run.jobs[name].job.group for run in world.runs.values() for name, _ in run.leaving}
    wanted = {a.job.group for _, a in grouped if a.status == "waiting_for_resource"}
    for group in sorted(wanted - held - world.kept):
        return group, _candidates([(run, a) for run, a in grouped if a.job.group == group], world.modes.get(group, ""))
    return None


def _candidates(grouped: Sequence[tuple[Run, Attempt]], mode: str) -> list[tuple[str, str] | None]:
    """Who of those in a group may be next; None: nobody yet, the slot is kept for one that is not ready."""
    coming = {"created", "scheduled", "waiting_for_resource"}
    if mode not in {"oldest_first", "newest_first"}:
        coming = {"waiting_for_resource"}
    runs = {run.key: run for run, a in grouped if a.status in coming}
    if mode == "oldest_first":
        first = [key for key, run in runs.items() if not any(_is_older(other, run) for other in runs.values())]
    elif mode in {"newest_first", "newest_ready_first"}:
        first = [key for key, run in runs.items() if not any(_is_older(run, other) for other in runs.values())]
    else:
        first = list(runs)
    found: list[tuple[str, str] | None] = []
    for key in first:
        ready = [(key, a.job.name) for run, a in grouped if run.key == key and a.status == "waiting_for_resource"]
        found += ready or [None]
    return list(dict.fromkeys(found))


def _is_older(one: Run, other: Run) -> bool:
    """Whether it is known that a pipeline was made before another; of those of one moment only ancestors were."""
    return one.age < other.age or other.key.startswith(f"{one.key}/")
