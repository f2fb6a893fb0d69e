"""What a router knows of a cluster: its pods, and which of them each organisation lives in."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

BLOCK_BITS: Final = 40
"""A pod gives its rows ids from a block of 2^40, the number of which is its own (`docs/pods.md`)."""
MAX_POD_NUMBER: Final = 8191


DEFAULT_WEIGHT: Final = 100


class PodState(StrEnum):
    """Whether a pod takes part. Number and name of one that was removed are never given again."""

    ACTIVE = "active"
    DRAINING = "draining"
    """It serves what it has, and gets no new organisations."""
    REMOVED = "removed"


class IdKind(StrEnum):
    """Of what rows a directory knows the organisation, by their ids: those by which requests call them."""

    PROJECT = "project"
    GROUP = "group"
    HOOK = "hook"
    """That a forge calls."""


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod. `name` is unique, and stands in what the pod signs; `address` has the `host:port` of its APIs.

    `weight` is its share of new organisations beside those of the others; `public_keys` are JSON web keys (RFC 7517) by
    which others verify what it signs.
    """

    number: int
    name: str
    address: str = ""
    weight: int = DEFAULT_WEIGHT
    state: PodState = PodState.ACTIVE
    public_keys: tuple[Mapping[str, Any], ...] = field(default=(), hash=False)


@dataclass(frozen=True, slots=True)
class Directory:
    """One state of a cluster. Every change makes a later `version`.

    `organisations` are the numbers of pods by the path of the top-level group, in small letters; `moved` by its id, for
    those that live, or lived, elsewhere than their id says. `owners` are organisations by the ids of what is theirs, of
    those that have moved.
    """

    version: int
    pods: tuple[Pod, ...]
    organisations: Mapping[str, int] = field(default_factory=dict)
    moved: Mapping[int, int] = field(default_factory=dict)
    owners: Mapping[IdKind, Mapping[int, int]] = field(default_factory=dict)
    by_number: Mapping[int, Pod] = field(init=False, repr=False, compare=False)
    by_name: Mapping[str, Pod] = field(init=False, repr=False, compare=False)
    first: Pod = field(init=False, repr=False, compare=False)
    """What was made before there were several pods is here."""

    def __post_init__(self) -> None:
        """Raise `ValueError` where two pods have one number or one name, or there is none."""
        numbers, names = {pod.number: pod for pod in self.pods}, {pod.name: pod for pod in self.pods}
        if not self.pods or len(numbers) != len(self.pods) or len(names) != len(self.pods):
            raise ValueError("A directory has at least one pod, and no two of one number or name.")
        object.__setattr__(self, "by_number", numbers)
        object.__setattr__(self, "by_name", names)
        object.__setattr__(self, "first", numbers[min(numbers)])

    def of_id(self, row_id: int, kind: IdKind | None = None) -> int:
        """The number of the pod that has a row: the one that gave it its id, if its organisation has not moved.

        There need be none of that number.
        """
        if self.moved and kind is not None:
            owner = self.owners.get(kind, {}).get(row_id, row_id if kind is IdKind.GROUP else -1)
            return self.moved.get(owner, row_id >> BLOCK_BITS)
        return row_id >> BLOCK_BITS


def placed(organisations: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Organisations as a directory keeps them: GitLab's paths differ by more than the size of letters."""
    return {path.lower(): number for path, number in organisations}
