"""Which jobs come before which: needs, and the stages before for those that have none.

All jobs of a stage may wait for all of the one before. That is written as one gate between the two, so that a graph has
no more edges than its needs and twice its jobs, and whatever walks it costs what it is large.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Vertex:
    """A job or a group of them. `stage` is the position of its stage, `needs` positions in the list of vertices.

    `needs` is None for one that waits for all stages before its own. Some may lead in a circle (instances of two
    parallel jobs that need one another's): whatever is in one is looked at last, without what is missing.
    """

    stage: int
    needs: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class Order:
    """What comes before each vertex, and an order in which nothing comes before what it waits for.

    Positions from `vertices` on are gates. `before` holds only what comes earlier in `walk`: a circle is cut.
    """

    vertices: int
    before: tuple[tuple[int, ...], ...]
    walk: tuple[int, ...]
    has_circle: bool

    def is_gate(self, position: int) -> bool:
        """Whether a position is that of a gate between two stages, which takes neither time nor room."""
        return position >= self.vertices


def whole(vertices: Sequence[Vertex]) -> Order:
    """The order of all: by needs, and by gates for those that wait for their stages."""
    count = len(vertices)
    stages = 1 + max((vertex.stage for vertex in vertices), default=-1)
    before: list[list[int]] = [[] for _ in range(count + stages)]
    for position, vertex in enumerate(vertices):
        if vertex.needs is None:
            before[position].append(count + vertex.stage)
        else:
            before[position] += vertex.needs
        if vertex.stage + 1 < stages:
            before[count + vertex.stage + 1].append(position)
    for stage in range(1, stages):
        before[count + stage].append(count + stage - 1)
    return _ordered(count, before)


def inside_stages(vertices: Sequence[Vertex]) -> Order:
    """The order by the needs alone that lead to a job of the same stage."""
    before = [[need for need in vertex.needs or () if vertices[need].stage == vertex.stage] for vertex in vertices]
    return _ordered(len(vertices), before)


def depths(order: Order) -> list[int]:
    """How many vertices come before each one in the longest row of them; gates do not count."""
    found = [0] * len(order.before)
    for position in order.walk:
        longest = max((found[one] + (not order.is_gate(one)) for one in order.before[position]), default=0)
        found[position] = longest
    return found[: order.vertices]


def _ordered(count: int, before: Sequence[Iterable[int]]) -> Order:
    """Kahn's way; what is left in circles follows in its own order."""
    unique = [tuple(dict.fromkeys(earlier)) for earlier in before]
    after: list[list[int]] = [[] for _ in unique]
    missing = [len(earlier) for earlier in unique]
    for position, earlier in enumerate(unique):
        for one in earlier:
            after[one].append(position)
    walk = [position for position, left in enumerate(missing) if not left]
    for position in walk:  # grows while it is walked
        for later in after[position]:
            missing[later] -= 1
            if not missing[later]:
                walk.append(later)
    if len(walk) == len(unique):
        return Order(count, tuple(unique), tuple(walk), has_circle=False)
    walked = set(walk)
    walk += [position for position in range(len(unique)) if position not in walked]
    place = {position: at for at, position in enumerate(walk)}
    cut = (tuple(one for one in earlier if place[one] < place[at]) for at, earlier in enumerate(unique))
    return Order(count, tuple(cut), tuple(walk), has_circle=True)
