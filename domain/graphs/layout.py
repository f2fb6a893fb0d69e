"""Where the nodes of a picture stand: by stage (needs inside a stage make further columns), or by needs alone.

A column is what has the same longest row of needs before it; within one, nodes follow the middle of their neighbours,
so that curves cross little (barycentre order). A column that would grow too tall is folded into several.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from domain.graphs.order import Vertex, depths, inside_stages, whole

_SWEEPS: Final = 2
"""So often the order within columns is looked at from the left again, after a look from the right."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Lengths in SVG's user units, pixels at first.

    `row` is from the top of a node to that of the next one, `column_gap` is room for curves between columns of one
    stage, `padding` is inside a stage's panel, `heading` the height of its name, `title` that of the picture's.
    `max_rows` nodes are in a column before it is folded.
    """

    width: int = 244
    height: int = 34
    row: int = 44
    column_gap: int = 44
    stage_gap: int = 56
    padding: int = 16
    heading: int = 40
    margin: int = 24
    title: int = 56
    max_rows: int = 30

    @property
    def near(self) -> int:
        """From one column to the next; curves that go further cross other jobs."""
        return self.stage_gap + 2 * self.padding


@dataclass(frozen=True, slots=True)
class Panel:
    """One stage's place; `stage` is its position."""

    stage: int
    x: int
    width: int


@dataclass(frozen=True, slots=True)
class Layout:
    """Top left corners of all nodes by position, the panels of the stages, and the size of everything."""

    corners: Mapping[int, tuple[int, int]]
    panels: tuple[Panel, ...]
    width: int
    height: int


def by_stage(vertices: Sequence[Vertex], stages: int, sizes: Sizes) -> Layout:
    """Place all nodes in a panel for each of so many stages, from left to right."""
    levels = _levels(depths(inside_stages(vertices)), [vertex.stage for vertex in vertices], stages)
    ordered = _uncrossed(vertices, [level for stage in levels for level in stage])
    columns = iter(ordered)
    panels, groups = [], []
    left = sizes.margin
    for position, stage in enumerate(levels):
        folded = [piece for _ in stage for piece in _folded(next(columns), sizes.max_rows)]
        width = 2 * sizes.padding + max(1, len(folded)) * (sizes.width + sizes.column_gap) - sizes.column_gap
        panels.append(Panel(position, left, width))
        groups.append((left + sizes.padding, folded))
        left += width + sizes.stage_gap
    return _placed(groups, tuple(panels), left - sizes.stage_gap, sizes)


def by_needs(vertices: Sequence[Vertex], sizes: Sizes) -> Layout:
    """Place all nodes by what they wait for, whatever their stages are: the first column waits for nothing."""
    (levels,) = _levels(depths(whole(vertices)), [0] * len(vertices), 1)
    groups = []
    left = sizes.margin
    for column in _uncrossed(vertices, levels):
        folded = _folded(column, sizes.max_rows)
        groups.append((left, folded))
        left += len(folded) * (sizes.width + sizes.column_gap) - sizes.column_gap + sizes.stage_gap
    return _placed(groups, (), left - sizes.stage_gap, sizes)


def curve(start: tuple[int, int], end: tuple[int, int], sizes: Sizes) -> str:
    """A path's `d` from the right side of the node at `start` to the left side of the one at `end`."""
    x1, y1 = start[0] + sizes.width, start[1] + sizes.height // 2
    x2, y2 = end[0], end[1] + sizes.height // 2
    bend = max(sizes.column_gap // 2, min(120, abs(x2 - x1) // 2))
    return f"M{x1} {y1}C{x1 + bend} {y1} {x2 - bend} {y2} {x2} {y2}"


def _placed(
    groups: Sequence[tuple[int, Sequence[Sequence[int]]]], panels: tuple[Panel, ...], right: int, sizes: Sizes
) -> Layout:
    """All nodes, column by column; each group of columns begins at its own x."""
    top = sizes.margin + sizes.title + sizes.heading
    corners: dict[int, tuple[int, int]] = {}
    tallest = 1
    for left, columns in groups:
        for index, column in enumerate(columns):
            x = left + index * (sizes.width + sizes.column_gap)
            corners |= {position: (x, top + row * sizes.row) for row, position in enumerate(column)}
            tallest = max(tallest, len(column))
    height = top + tallest * sizes.row - (sizes.row - sizes.height) + sizes.padding + sizes.margin
    return Layout(corners, panels, max(right, sizes.margin + sizes.width) + sizes.margin, height)


def _levels(depth: Sequence[int], stage_of: Sequence[int], stages: int) -> list[list[list[int]]]:
    """The vertices of each stage by their depth."""
    found: list[dict[int, list[int]]] = [{} for _ in range(stages)]
    for position, stage in enumerate(stage_of):
        found[stage].setdefault(depth[position], []).append(position)
    return [[levels[one] for one in sorted(levels)] for levels in found]


def _folded(column: Sequence[int], rows: int) -> list[Sequence[int]]:
    return [column[start : start + rows] for start in range(0, len(column), rows)]


def _uncrossed(vertices: Sequence[Vertex], columns: Sequence[Sequence[int]]) -> list[list[int]]:
    """The columns with their nodes in barycentre order, looked at from the left, from the right, and again."""
    before = [vertex.needs or () for vertex in vertices]
    after: list[list[int]] = [[] for _ in vertices]
    for position, needs in enumerate(before):
        for need in needs:
            after[need].append(position)
    ordered = [list(column) for column in columns]
    rows: dict[int, float] = {}
    for sweep in range(_SWEEPS):
        _sweep(range(len(ordered)), ordered, before, rows)
        if sweep < _SWEEPS - 1:
            _sweep(range(len(ordered) - 1, -1, -1), ordered, after, rows)
    return ordered


def _sweep(
    ways: Sequence[int], columns: list[list[int]], neighbours: Sequence[Sequence[int]], rows: dict[int, float]
) -> None:
    """Sort one column after the other by the mean row of what each node is joined with; the others keep their rows."""
    for index in ways:
        column = columns[index]
        last = float(len(column))
        middles = {}
        for at, position in enumerate(column):
            known = [rows[one] for one in neighbours[position] if one in rows]
            middles[position] = sum(known) / len(known) if known else rows.get(position, last + at)
        columns[index] = sorted(column, key=middles.__getitem__)
        rows |= {position: float(row) for row, position in enumerate(columns[index])}
