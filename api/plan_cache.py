"""Plans of commits that had a pipeline lately: the next pipeline of the same commit reads and compiles nothing."""

from collections import OrderedDict
from pathlib import Path
from typing import Final, TypeAlias

from domain.config.plan import Plan

Known: TypeAlias = tuple[dict[str, str], Plan]
"""Facts of a commit, and what its configuration compiles to."""

MOST_COMMITS: Final = 64
MOST_JOBS: Final = 2_000
"""A larger plan is not kept: it would take more memory than it saves time."""


class PlanCache:
    """The commits that were used last."""

    def __init__(self) -> None:
        """Begin empty."""
        self._known: OrderedDict[tuple[Path, str], Known] = OrderedDict()

    def get(self, repository: Path, sha: str) -> Known | None:
        """What is known of a commit."""
        known = self._known.get((repository, sha))
        if known is not None:
            self._known.move_to_end((repository, sha))
        return known

    def put(self, repository: Path, sha: str, known: Known) -> None:
        """Keep what a commit compiled to."""
        if len(known[1].jobs) > MOST_JOBS:
            return
        self._known[repository, sha] = known
        if len(self._known) > MOST_COMMITS:
            self._known.popitem(last=False)
