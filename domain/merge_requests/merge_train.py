"""Merge trains: merge requests of one target branch that are tested upon each other and merged in their order.

Each car is a commit: its source branch merged upon the car before it, the first one upon the target's head. What is
merged is exactly the commit that was tested. Source of the rules: GitLab's documentation of merge trains.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

MAX_PARALLEL: Final = 20
"""So many cars of a train are tested at the same time."""
PIPELINE_FAILED: Final = "its pipeline on the merge train ended as {status}"


class CarStatus(StrEnum):
    """Where a car is: not built yet, tested upon what is before it, to be built anew, being merged, arrived.

    The last one is that of a merge request that was merged outside of its train.
    """

    IDLE = "idle"
    FRESH = "fresh"
    STALE = "stale"
    MERGING = "merging"
    MERGED = "merged"
    SKIP_MERGED = "skip_merged"


ON_THE_WAY: Final = frozenset({CarStatus.IDLE, CarStatus.FRESH, CarStatus.STALE, CarStatus.MERGING})
_ENDED_BADLY: Final = frozenset({"failed", "canceled", "skipped"})
_SUCCESS: Final = "success"


@dataclass(frozen=True, slots=True)
class Car:
    """A car of a train. `base` and `sha` are empty for one that is not built.

    `refusal` says why its merge request cannot be merged any more, `pipeline` is the status of the pipeline of `sha`.
    """

    id: int
    base: str = ""
    sha: str = ""
    pipeline: str = ""
    refusal: str = ""
    merging: bool = False


@dataclass(frozen=True, slots=True)
class Train:
    """The cars that are on their way to a target branch, in order; `target` is its head."""

    target: str
    cars: Sequence[Car] = ()


@dataclass(frozen=True, slots=True)
class Build:
    """Merge a car upon `base` and test that; an earlier pipeline of it is canceled."""

    car: int
    base: str


@dataclass(frozen=True, slots=True)
class Outdate:
    """What a car was built upon will not come; its pipeline is canceled, and it is built when its turn comes."""

    car: int


@dataclass(frozen=True, slots=True)
class Drop:
    """Take a car off the train."""

    car: int
    reason: str


@dataclass(frozen=True, slots=True)
class Merge:
    """Move the target branch from `base` to `sha`, which has passed its tests."""

    car: int
    base: str
    sha: str


Step: TypeAlias = Build | Outdate | Drop | Merge


def next_steps(train: Train, parallel: int = MAX_PARALLEL) -> tuple[Step, ...]:
    """What is to be done with a train as it stands; nothing while all of it is right and is being tested.

    Each step holds by itself: those that cannot be carried out, since things have changed, are left out and asked for
    again. A car that failed upon what will not come is not blamed for it.
    """
    steps: list[Step] = []
    base, ahead, building = train.target, 0, False
    for car in train.cars:
        if car.merging:
            base, ahead = car.sha, ahead + 1
        elif car.refusal:
            steps.append(Drop(car.id, car.refusal))
        elif building or car.base != base or not car.sha:
            steps += _behind(car) if building or ahead >= parallel else [Build(car.id, base)]
            building, ahead = True, ahead + 1
        elif car.pipeline in _ENDED_BADLY:
            steps.append(Drop(car.id, PIPELINE_FAILED.format(status=car.pipeline)))
        else:
            if not ahead and car.pipeline == _SUCCESS:
                steps.append(Merge(car.id, car.base, car.sha))
            base, ahead = car.sha, ahead + 1
    return tuple(steps)


def _behind(car: Car) -> list[Step]:
    """A car that has to wait for one before it to be built."""
    return [Outdate(car.id)] if car.sha else []
