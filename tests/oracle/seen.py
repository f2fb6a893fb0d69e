"""What can be seen of pipelines, by the simulation and by the product, and where the two differ."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tests.oracle.world import World


@dataclass(frozen=True, slots=True)
class SeenJob:
    """The latest attempt of a job."""

    status: str
    attempt: int = 1
    allow_failure: bool = False

    def __str__(self) -> str:
        """As reports show it."""
        return f"{self.status} (attempt {self.attempt}{', allowed to fail' if self.allow_failure else ''})"


@dataclass(frozen=True, slots=True)
class SeenRun:
    """A pipeline at rest."""

    pipeline: str
    stages: Mapping[str, str]
    jobs: Mapping[str, SeenJob]


Seen: TypeAlias = Mapping[str, SeenRun]
"""All pipelines, by the names that the simulation gives them."""


def seen_of(world: World) -> dict[str, SeenRun]:
    """What a world of the simulation shows."""
    return {
        key: SeenRun(
            run.status,
            run.stages,
            {name: SeenJob(one.status, one.number, one.allow_failure) for name, one in run.jobs.items()},
        )
        for key, run in world.runs.items()
    }


def differences(wanted: Seen, found: Seen) -> list[str]:
    """Where what is found is not what is wanted, a line each."""
    faults = [f"pipeline {key} is only in one of the two" for key in sorted(wanted.keys() ^ found.keys())]
    for key in sorted(wanted.keys() & found.keys()):
        pairs = (("pipeline", {"": wanted[key].pipeline}, {"": found[key].pipeline}),
                 ("stage", wanted[key].stages, found[key].stages),
                 ("job", wanted[key].jobs, found[key].jobs))  # fmt: skip
        for kind, expected, there in pairs:
            faults += [
                f"{key}: {kind} {name}".rstrip() + f" is {there.get(name)}, not {expected.get(name)}"
                for name in sorted({*expected, *there})
                if expected.get(name) != there.get(name)
            ]
    return faults


def closest(worlds: Sequence[World], found: Seen) -> list[str]:
    """The differences to the world that has the fewest."""
    return min((differences(seen_of(world), found) for world in worlds), key=len)
