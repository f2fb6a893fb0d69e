"""What comes before what, beside a slow search for the longest row."""

from functools import cache

import pytest
from hypothesis import given

from domain.graphs.order import Vertex, depths, inside_stages, whole
from tests.domain.graphs.made import vertices
from tests.growth import assert_linear


@given(vertices())
def test_a_depth_is_the_longest_row_before(made: list[Vertex]) -> None:
    @cache
    def longest(position: int) -> int:
        vertex = made[position]
        if vertex.needs is None:
            before = [at for at, other in enumerate(made) if other.stage < vertex.stage]
        else:
            before = list(vertex.needs)
        return max((longest(one) + 1 for one in before), default=0)

    assert depths(whole(made)) == [longest(position) for position in range(len(made))]


@given(vertices())
def test_inside_a_stage_only_its_own_needs_count(made: list[Vertex]) -> None:
    order = inside_stages(made)
    assert sorted(order.walk) == list(range(len(made)))
    assert not order.has_circle
    for position, earlier in enumerate(order.before):
        assert {made[one].stage for one in earlier} <= {made[position].stage}


def test_a_circle_is_cut_and_told() -> None:
    order = whole([Vertex(0, (1,)), Vertex(0, (0,)), Vertex(0, ())])
    assert order.has_circle
    assert sorted(order.walk) == [0, 1, 2, 3]
    assert len(depths(order)) == 3


def test_ten_thousand_jobs_in_a_row_need_no_stack() -> None:
    count = 10_000
    assert max(depths(whole([Vertex(0, (at - 1,) if at else ()) for at in range(count)]))) == count - 1


@pytest.mark.parametrize("shape", ["row", "stages", "needs"])
def test_the_cost_grows_with_the_graph(shape: str) -> None:
    def made(size: int) -> list[Vertex]:
        if shape == "row":
            return [Vertex(0, (at - 1,) if at else ()) for at in range(size)]
        if shape == "stages":
            return [Vertex(at // 10, None) for at in range(size)]
        return [Vertex(at // 50, tuple(range(max(0, at - 100), max(0, at - 50)))) for at in range(size)]

    def work(size: int):  # type: ignore[no-untyped-def]
        graph = made(size)
        return lambda: depths(whole(graph))

    assert_linear(work, 1_000 if shape == "needs" else 4_000)
