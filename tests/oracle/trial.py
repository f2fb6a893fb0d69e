"""Plays a case on the product and on the simulation, step by step, and finds the first step at which they differ."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from domain.errors import PerdureError
from tests.oracle.case import Case, Fault
from tests.oracle.events import Event
from tests.oracle.passes import settle
from tests.oracle.seen import Seen, closest, differences, seen_of
from tests.oracle.simulation import happen
from tests.oracle.world import ROOT, World


class Project(Protocol):
    """The product with the pipelines of a case."""

    async def begin(self) -> None:
        """Come to rest for the first time."""

    async def happen(self, events: Sequence[Event]) -> tuple[bool, ...]:
        """Let events of one moment happen, and come to rest; whether each was accepted."""

    async def seen(self) -> Seen:
        """All pipelines at rest."""

    async def loose_ends(self) -> list[str]:
        """What may not be left at rest, a sentence each."""


Open: TypeAlias = Callable[[Case], Awaitable[Project]]
"""Makes the first pipeline of a case in the product."""


@dataclass(frozen=True)
class _Found:
    worlds: list[World]
    texts: list[str]


async def trial(case: Case, open_project: Open) -> Fault | None:
    """The first step at which the product is none of the worlds of the simulation, or leaves a loose end."""
    worlds = settle(case.world())
    project = await open_project(case)
    for number in range(len(case.moments) + 1):
        try:
            if number == 0:
                await project.begin()
            else:
                events = [event for event in case.moments[number - 1] if _is_known(worlds[0], event)]
                if not events:
                    continue
                answers = await project.happen(events)
                ends = [end for world in worlds for end in happen(world, events)]
                worlds, refusals = _with_answers(ends, answers, events)
                if not worlds:
                    return _fault(case, number, [end for end, _ in ends], refusals)
            seen = await project.seen()
            loose = await project.loose_ends()
        except (PerdureError, AssertionError, KeyError, StopIteration, TimeoutError) as error:
            return _fault(case, number, worlds, [f"raised {error!r}"])
        fitting = [world for world in worlds if not differences(seen_of(world), seen)]
        if not fitting or loose:
            return _fault(case, number, fitting or worlds, loose if fitting else closest(worlds, seen))
        worlds = _distinct(fitting)
    return None


def _with_answers(
    ends: list[tuple[World, tuple[bool, ...]]], answers: tuple[bool, ...], events: Sequence[Event]
) -> tuple[list[World], list[str]]:
    """The worlds in which the same events were accepted, and what is wrong if there is none."""
    fitting = [
        world
        for world, accepted in ends
        if all(a == b or _is_a_tie(event, events) for a, b, event in zip(accepted, answers, events, strict=True))
    ]
    wanted = sorted({accepted for _, accepted in ends})
    texts = [f"{event}: {'accepted' if answer else 'refused'}" for event, answer in zip(events, answers, strict=True)]
    return fitting, [f"{', '.join(texts)}; possible are {wanted}"]


def _is_a_tie(event: Event, events: Sequence[Event]) -> bool:
    """Whether a cancel met the end of its job: it may be told that it was taken on although the job has ended."""
    return event.kind == "cancel" and any(
        other.kind in {"success", "drop"} and (other.run, other.job) == (event.run, event.job) for other in events
    )


def _is_known(world: World, event: Event) -> bool:
    """Whether an event speaks of something that there is; a case that was shrunk may say more."""
    return not event.job or (event.run in world.runs and event.job in world.runs[event.run].jobs)


def _distinct(worlds: list[World]) -> list[World]:
    return list({world.seen(): world for world in worlds}.values())


def _fault(case: Case, number: int, worlds: list[World], texts: list[str]) -> Fault:
    return Fault(case, number, tuple(texts), _expectation(worlds[0]))


def _expectation(world: World) -> dict[str, Any]:
    """What a scenario file says of the first pipeline, and of the others under their names."""
    told = {
        key: {
            "pipeline": run.status,
            "stages": dict(run.stages),
            "jobs": {name: one.status for name, one in run.jobs.items()},
        }
        for key, run in world.runs.items()
    }
    return {**told.pop(ROOT), **({"others": told} if told else {})}
