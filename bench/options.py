"""What a caller of the benchmarks chooses."""

from dataclasses import dataclass
from typing import Final

RUNS: Final = 3
LARGE: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Options:
    """Sizes of the measurements; the defaults are those of the published figures."""

    runs: int = RUNS
    """Interleaved runs; their median counts."""
    front: bool = False
    """Whether runners go through the front, as they do in the embedded mode."""
    shapes: tuple[str, ...] = ()
    """Names of the shapes that the engine is measured with; all when empty."""
    pipelines: int = 50
    stages: int = 2
    jobs: int = 5
    """Jobs of one stage."""
    runners: int = 20
    large: int = LARGE
    """Jobs of the large home, for what grows with it."""

    @property
    def all_jobs(self) -> int:
        """Jobs of one run."""
        return self.pipelines * self.stages * self.jobs
