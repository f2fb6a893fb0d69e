"""What a node that stands for several jobs says of them: how many are in which state, and the state of all together."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from domain.pipelines.status import Folded, Status, composite, fold


@dataclass(frozen=True, slots=True)
class Counts:
    """Jobs by what each counts as (`Status`, or `warning` for a failure that is allowed), and the status of all."""

    status: Status
    by_state: Mapping[str, int]
    total: int

    @property
    def passed(self) -> int:
        """Jobs that have succeeded."""
        return self.by_state.get(Status.SUCCESS, 0)


def counted(jobs: Iterable[tuple[Status, bool]]) -> Counts:
    """Count jobs by (status, allow_failure); the most frequent state comes first, and the worst before others."""
    pairs: Sequence[tuple[Status, bool]] = tuple(jobs)
    tally = Counter(_named(status, allowed) for status, allowed in pairs)
    ordered = sorted(tally, key=lambda state: (state != Status.FAILED, -tally[state], state))
    return Counts(composite(pairs), {state: tally[state] for state in ordered}, len(pairs))


def _named(status: Status, allowed: bool) -> str:
    counts_as = fold(status, allowed)
    return counts_as if counts_as == Folded.WARNING and status is Status.FAILED else status
