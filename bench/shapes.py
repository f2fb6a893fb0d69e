"""Shapes of pipelines: how many there are, and how the jobs of each depend on one another.

A shape is written as a configuration for us and as widths of stages, or a graph, for the floor.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Final, TypeAlias

Job: TypeAlias = tuple[int, tuple[int, ...] | None]
"""The stage of a job, and the positions of the jobs it needs; without needs it waits for the stages before."""


@dataclass(frozen=True, slots=True)
class Shape:
    """So many pipelines of these jobs, which do nothing. `bar` is the least share of the floor's speed."""

    name: str
    about: str
    pipelines: int
    jobs: tuple[Job, ...]
    bar: float | None = None
    has_floor: bool = True
    runs: int | None = None
    """How often it is measured, where that is not for the caller to choose."""

    @property
    def all_jobs(self) -> int:
        """Jobs of all pipelines."""
        return self.pipelines * len(self.jobs)

    def configuration(self) -> str:
        """The text of `.gitlab-ci.yml`."""
        stages = 1 + max(stage for stage, _ in self.jobs)
        lines = [f"stages: [{', '.join(f's{number}' for number in range(stages))}]"]
        for number, (stage, needs) in enumerate(self.jobs):
            wanted = "" if needs is None else f"needs: [{', '.join(_name(need) for need in needs)}], "
            lines.append(f"{_name(number)}: {{stage: s{stage}, {wanted}script: ['true']}}")
        return "\n".join(lines) + "\n"

    def floor(self) -> dict[str, object]:
        """The fields of `bench.floor.Order` that say what is to be run."""
        if all(needs is None for _, needs in self.jobs):
            stages = 1 + max(stage for stage, _ in self.jobs)
            return {"widths": [sum(stage == number for stage, _ in self.jobs) for number in range(stages)]}
        return {"needs": [list(needs or ()) for _, needs in self.jobs]}


def _name(number: int) -> str:
    return f"j{number:05d}"


def in_stages(widths: Sequence[int], first: int = 0) -> Iterable[Job]:
    """Stages with so many jobs each, from stage `first` on."""
    return ((stage, None) for stage, width in enumerate(widths, first) for _ in range(width))


def in_layers(layers: int, width: int, *, stage: int = 0, begin: int = 0) -> Iterable[Job]:
    """Layers of jobs of which each needs the one before it, every second one also its neighbour's.

    `begin` is the position of the first job; the first layer begins at once.
    """
    numbers = count(begin)
    for layer in range(layers):
        for place in range(width):
            above = next(numbers) - place - width
            near = (above + place,) if place % 2 == 0 else (above + place, above + (place + 1) % width)
            yield stage, near if layer else ()


MANY: Final = Shape("many", "100 pipelines of 10 jobs in 2 stages", 100, tuple(in_stages((5, 5))), bar=0.6)
WIDE: Final = Shape("wide", "1 pipeline of 500 jobs in one stage", 1, tuple(in_stages((500,))), bar=0.6)
GRAPH: Final = Shape("graph", "1 pipeline of 1,000 jobs, a graph 50 wide", 1, tuple(in_layers(20, 50)))
HUGE: Final = Shape(
    "huge",
    "1 pipeline of 10,000 jobs",
    1,
    (
        *in_stages((500, 4_000)),
        *in_layers(50, 60, stage=2, begin=4_500),
        *in_stages((2_000, 500), first=3),
    ),
    has_floor=False,
    runs=1,
)

SHAPES: Final[Mapping[str, Shape]] = {shape.name: shape for shape in (MANY, WIDE, GRAPH, HUGE)}
"""By name."""
