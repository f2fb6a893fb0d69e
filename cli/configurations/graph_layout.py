"""Where the nodes of a picture stand: stages from left to right, needs inside a stage as further columns.

Within a column nodes follow the middle of what they need, so that curves cross little (barycentre order). A column
that would grow too tall is folded into several.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from cli.configurations.plan_graph import Node

WIDTH: Final = 244
"""Of a node; all lengths are SVG's user units, pixels at first."""
HEIGHT: Final = 34
ROW: Final = 44
"""From the top of a node to that of the next one."""
COLUMN_GAP: Final = 44
"""Between columns of one stage: room for curves."""
STAGE_GAP: Final = 56
PADDING: Final = 16
"""Inside a stage's panel."""
HEADING: Final = 40
"""Height of a stage's name."""
MARGIN: Final = 24
TITLE: Final = 56
"""Height of the picture's title."""
MAX_ROWS: Final = 30
"""Nodes in a column before it is folded."""


@dataclass(frozen=True, slots=True)
class Panel:
    """One stage's place."""

    stage: str
    x: int
    width: int


@dataclass(frozen=True, slots=True)
class Layout:
    """Top left corners of all nodes by position, the panels of the stages, and the size of everything."""

    corners: Mapping[int, tuple[int, int]]
    panels: tuple[Panel, ...]
    width: int
    height: int


def layout(nodes: Sequence[Node], stages: Sequence[str]) -> Layout:
    """Place all nodes."""
    rows: dict[int, float] = {}
    corners: dict[int, tuple[int, int]] = {}
    panels = []
    left, tallest = MARGIN, 1
    top = MARGIN + TITLE + HEADING
    for stage in stages:
        members = [position for position, node in enumerate(nodes) if node.stage == stage]
        columns = _columns(nodes, members, rows)
        for index, column in enumerate(columns):
            x = left + PADDING + index * (WIDTH + COLUMN_GAP)
            corners |= {position: (x, top + row * ROW) for row, position in enumerate(column)}
            tallest = max(tallest, len(column))
        width = 2 * PADDING + max(1, len(columns)) * (WIDTH + COLUMN_GAP) - COLUMN_GAP
        panels.append(Panel(stage, left, width))
        left += width + STAGE_GAP
    height = top + tallest * ROW - (ROW - HEIGHT) + PADDING + MARGIN
    return Layout(corners, tuple(panels), max(left - STAGE_GAP, MARGIN + WIDTH) + MARGIN, height)


def _columns(nodes: Sequence[Node], members: Sequence[int], rows: dict[int, float]) -> list[list[int]]:
    """The columns of one stage; notes the row of each node in `rows`."""
    columns: list[list[int]] = []
    for level in _levels(nodes, members):
        ordered = sorted(level, key=lambda position: _middle(nodes[position], rows, len(rows)))
        for start in range(0, len(ordered), MAX_ROWS):
            column = ordered[start : start + MAX_ROWS]
            rows |= {position: float(row) for row, position in enumerate(column)}
            columns.append(column)
    return columns


def _levels(nodes: Sequence[Node], members: Sequence[int]) -> list[list[int]]:
    """The nodes of a stage by how many of the same stage come before them in a row; needs go to the left."""
    inside = set(members)
    depth: dict[int, int] = {}
    for position in _by_need(nodes, members):
        before = [depth[need] for need in nodes[position].needs or () if need in inside and need in depth]
        depth[position] = 1 + max(before, default=-1)
    levels: list[list[int]] = [[] for _ in range(1 + max(depth.values(), default=-1))]
    for position in members:
        levels[depth[position]].append(position)
    return levels


def _by_need(nodes: Sequence[Node], members: Sequence[int]) -> list[int]:
    """Each node after those of the same stage that it needs; without recursion, since chains may be long."""
    inside, done, order = set(members), set[int](), list[int]()
    for member in members:
        stack = [member]
        entered: set[int] = set()
        while stack:
            position = stack[-1]
            waiting = [need for need in nodes[position].needs or () if need in inside - done - entered]
            if waiting and position not in entered:
                entered.add(position)
                stack += waiting
                continue
            stack.pop()
            if position not in done:
                done.add(position)
                order.append(position)
    return order


def _middle(node: Node, rows: Mapping[int, float], last: int) -> float:
    """The mean row of what a node needs; nodes that need nothing stand below."""
    known = [rows[need] for need in node.needs or () if need in rows]
    return sum(known) / len(known) if known else float(last)
