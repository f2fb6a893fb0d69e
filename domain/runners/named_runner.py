"""A registered runner with what people call it: for those who look, not for matching."""

from collections.abc import Iterable
from dataclasses import dataclass

from domain.runners.matching import Candidate


@dataclass(frozen=True, slots=True)
class NamedRunner:
    """A runner as matching sees it (`candidate`), with its name, and how many jobs it holds now."""

    id: int
    description: str
    candidate: Candidate
    holds: int = 0

    @property
    def name(self) -> str:
        """As people read it."""
        return named(self.id, self.description)


def named(runner_id: int, description: str) -> str:
    """A runner as people read it: `runner #3 (mac mini)`."""
    return f"runner #{runner_id} ({description})" if description else f"runner #{runner_id}"


def candidates_of(runners: Iterable[NamedRunner]) -> tuple[Candidate, ...]:
    """What matching sees of them."""
    return tuple(runner.candidate for runner in runners)
