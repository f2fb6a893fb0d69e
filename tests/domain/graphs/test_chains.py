"""The critical path, beside every chain there is."""

from functools import cache
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from domain.graphs.chains import Chain, critical_path
from domain.graphs.order import Vertex
from tests.domain.graphs.made import vertices


@given(vertices(12), st.data())
def test_no_chain_takes_longer(made: list[Vertex], data: st.DataObject) -> None:
    seconds = [float(data.draw(st.integers(0, 50))) for _ in made]

    @cache
    def longest(position: int) -> float:
        vertex = made[position]
        if vertex.needs is None:
            before = [at for at, other in enumerate(made) if other.stage < vertex.stage]
        else:
            before = list(vertex.needs)
        return seconds[position] + max(map(longest, before), default=0.0)

    chain = critical_path(made, seconds)
    assert chain.seconds == max(map(longest, range(len(made))), default=0.0)
    assert sum(seconds[one] for one in chain.vertices) == chain.seconds
    for earlier, later in pairwise(chain.vertices):
        assert made[earlier].stage <= made[later].stage


def test_a_stage_waits_for_the_slowest_of_the_one_before() -> None:
    made = [Vertex(0, None), Vertex(0, None), Vertex(1, None), Vertex(1, (0,))]
    assert critical_path(made, [5, 20, 3, 17]) == Chain((1, 2), 23)
    assert critical_path(made, [5, 20, 3, 19]) == Chain((0, 3), 24)


def test_what_never_ran_has_no_critical_path() -> None:
    assert critical_path([Vertex(0, None)], [0.0]) == critical_path([], []) == Chain()
