"""Who comes next in a resource group (docs/reference/pipelines.md, "Resource groups").

Pure: the slot itself is taken in SQL; this only says whose turn it is.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from domain.pipelines.status import Status


class ProcessMode(StrEnum):
    """In which order the jobs of a group get its slot."""

    UNORDERED = "unordered"  # whoever waits; the one that was made first
    OLDEST_FIRST = "oldest_first"  # the oldest pipeline, even if its job is not ready yet
    NEWEST_FIRST = "newest_first"  # the newest pipeline, even if its job is not ready yet
    NEWEST_READY_FIRST = "newest_ready_first"  # the newest pipeline among those whose job is ready


@dataclass(frozen=True, slots=True)
class Candidate:
    """A job of a group that has not had the slot yet."""

    job_id: int
    pipeline_id: int
    status: Status

    @property
    def is_ready(self) -> bool:
        """Whether it waits for nothing but the slot."""
        return self.status is Status.WAITING_FOR_RESOURCE


Order: TypeAlias = Callable[[Candidate], tuple[int, ...]]
"""Sorts candidates: the first one is next."""


def _by_job(candidate: Candidate) -> tuple[int, ...]:
    return (candidate.job_id,)


def _oldest(candidate: Candidate) -> tuple[int, ...]:
    return (candidate.pipeline_id, not candidate.is_ready, candidate.job_id)


def _newest(candidate: Candidate) -> tuple[int, ...]:
    return (-candidate.pipeline_id, not candidate.is_ready, candidate.job_id)


_READY: Final = frozenset({Status.WAITING_FOR_RESOURCE})
_COMING: Final = _READY | {Status.CREATED, Status.SCHEDULED}

MODES: Final[Mapping[ProcessMode, tuple[frozenset[Status], Order]]] = {
    ProcessMode.UNORDERED: (_READY, _by_job),
    ProcessMode.OLDEST_FIRST: (_COMING, _oldest),
    ProcessMode.NEWEST_FIRST: (_COMING, _newest),
    ProcessMode.NEWEST_READY_FIRST: (_READY, _newest),
}
"""For each mode: which states are considered, and the order. Within one pipeline, what is ready comes first."""


def in_order(mode: ProcessMode, candidates: Iterable[Candidate]) -> list[Candidate]:
    """The candidates that the mode considers, the next one first."""
    considered, order = MODES[mode]
    return sorted((candidate for candidate in candidates if candidate.status in considered), key=order)


def choose(mode: ProcessMode, holder_is_free: bool, candidates: Iterable[Candidate]) -> Candidate | None:
    """The job whose turn it is; None while the slot is held, is kept for a job to come, or nobody wants it."""
    if not holder_is_free:
        return None
    turn = next(iter(in_order(mode, candidates)), None)
    return turn if turn is not None and turn.is_ready else None


def reachable(candidates: Iterable[Candidate], unreachable: Collection[int]) -> list[Candidate]:
    """The candidates without those of pipelines of which a job (`unreachable`) could not be told of its turn.

    The whole pipeline goes: its other jobs would only keep the slot for nobody.
    """
    found = list(candidates)
    gone = {candidate.pipeline_id for candidate in found if candidate.job_id in unreachable}
    return [candidate for candidate in found if candidate.pipeline_id not in gone]
