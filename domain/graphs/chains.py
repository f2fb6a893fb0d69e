"""The chain of jobs that a pipeline took longest for: shorten one of these, or nothing gets faster."""

from collections.abc import Sequence
from dataclasses import dataclass

from domain.graphs.order import Vertex, whole


@dataclass(frozen=True, slots=True)
class Chain:
    """The positions of the vertices, the first one first, and what they took together, in seconds."""

    vertices: tuple[int, ...] = ()
    seconds: float = 0.0


def critical_path(vertices: Sequence[Vertex], seconds: Sequence[float]) -> Chain:
    """The chain whose vertices took longest together, each one with its wait in the queue; empty if none took time."""
    order = whole(vertices)
    longest = [0.0] * len(order.before)
    came_from = [-1] * len(order.before)
    for position in order.walk:
        for earlier in order.before[position]:
            if longest[earlier] > longest[position]:
                longest[position], came_from[position] = longest[earlier], earlier
        if not order.is_gate(position):
            longest[position] += seconds[position]
    last = max(range(order.vertices), key=longest.__getitem__, default=-1)
    if last < 0 or longest[last] <= 0:
        return Chain()
    found = []
    position = last
    while position >= 0:
        if not order.is_gate(position):
            found.append(position)
        position = came_from[position]
    return Chain(tuple(one for one in reversed(found) if seconds[one] > 0), longest[last])
