"""Where nodes stand: each once, none on another, no need from right to left; and how fast."""

import time
from collections.abc import Callable

import pytest
from hypothesis import given

from domain.graphs.layout import Layout, Sizes, by_needs, by_stage
from domain.graphs.order import Vertex, depths, whole
from tests.domain.graphs.made import STAGES, vertices
from tests.growth import assert_linear

SIZES = Sizes(max_rows=3)


def placed(made: list[Vertex], way: str, sizes: Sizes = SIZES) -> Layout:
    """A layout by its way."""
    return by_needs(made, sizes) if way == "needs" else by_stage(made, STAGES, sizes)


@pytest.mark.parametrize("way", ["stage", "needs"])
@given(vertices())
def test_each_node_stands_once_inside_and_on_no_other(way: str, made: list[Vertex]) -> None:
    where = placed(made, way)
    assert sorted(where.corners) == list(range(len(made)))
    corners = list(where.corners.values())
    for at, (x, y) in enumerate(corners):
        assert 0 < x <= where.width - SIZES.width
        assert 0 < y <= where.height - SIZES.height
        assert all(abs(x - a) >= SIZES.width or abs(y - b) >= SIZES.height for a, b in corners[:at])


@pytest.mark.parametrize("way", ["stage", "needs"])
@given(vertices())
def test_no_need_goes_from_right_to_left(way: str, made: list[Vertex]) -> None:
    where = placed(made, way)
    for position, vertex in enumerate(made):
        for need in vertex.needs or ():
            assert where.corners[need][0] + SIZES.width < where.corners[position][0]


@given(vertices())
def test_by_needs_a_column_holds_what_has_as_long_a_row_before_it(made: list[Vertex]) -> None:
    sizes = Sizes(max_rows=1_000)
    where = by_needs(made, sizes)
    lefts = sorted({x for x, _ in where.corners.values()})
    assert [lefts.index(where.corners[at][0]) for at in range(len(made))] == depths(whole(made))


@given(vertices())
def test_by_stage_each_node_is_in_the_panel_of_its_stage(made: list[Vertex]) -> None:
    where = placed(made, "stage")
    assert [panel.stage for panel in where.panels] == list(range(STAGES))
    for position, (x, _) in where.corners.items():
        panel = where.panels[made[position].stage]
        assert panel.x < x < panel.x + panel.width - SIZES.width


def test_crossed_needs_are_uncrossed() -> None:
    made = [Vertex(0, ()) for _ in range(4)] + [Vertex(1, (3 - at,)) for at in range(4)]
    where = by_stage(made, 2, Sizes())
    for position in range(4, 8):
        (need,) = made[position].needs or ()
        assert where.corners[position][1] == where.corners[need][1]


def dense(size: int) -> list[Vertex]:
    """Jobs of which each needs five of the layer before; with stages of a hundred."""
    return [
        Vertex(at // 100, tuple({max(0, at - 100 + shift * 7) for shift in range(5)}) if at >= 100 else ())
        for at in range(size)
    ]


@pytest.mark.parametrize("way", ["stage", "needs"])
def test_the_cost_grows_with_the_number_of_nodes(way: str) -> None:
    def work(size: int) -> Callable[[], object]:
        made = dense(size)
        return lambda: by_needs(made, Sizes()) if way == "needs" else by_stage(made, size // 100 + 1, Sizes())

    assert_linear(work, 1_000)


@pytest.mark.parametrize("way", ["stage", "needs"])
def test_a_thousand_nodes_are_placed_at_once(way: str) -> None:
    made = dense(1_000)
    times = []
    for _ in range(5):
        begin = time.process_time()
        placed(made, way, Sizes()) if way == "needs" else by_stage(made, 10, Sizes())
        times.append(time.process_time() - begin)
    assert min(times) < 0.1
