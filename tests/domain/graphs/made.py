"""Graphs made at random, as configurations make them: no job needs one of a later stage, and none needs itself."""

from hypothesis import strategies as st

from domain.graphs.grouping import GroupedJob
from domain.graphs.order import Vertex

STAGES = 4


@st.composite
def vertices(draw: st.DrawFn, most: int = 30) -> list[Vertex]:
    """Vertices of `STAGES` stages."""
    stages = sorted(draw(st.lists(st.integers(0, STAGES - 1), max_size=most)))
    made = []
    for position, stage in enumerate(stages):
        earlier = st.lists(st.integers(0, max(0, position - 1)), max_size=4 if position else 0, unique=True)
        needs = draw(st.none() | earlier)
        made.append(Vertex(stage, None if needs is None else tuple(needs)))
    order = draw(st.permutations(range(len(made))))
    place = {old: new for new, old in enumerate(order)}
    moved = (made[old] for old in order)
    return [Vertex(one.stage, None if one.needs is None else tuple(place[need] for need in one.needs)) for one in moved]


@st.composite
def jobs(draw: st.DrawFn) -> list[GroupedJob]:
    """Jobs of which some share a name; needs between any of them, as long as there is no circle of jobs."""
    made: list[GroupedJob] = []
    for position, stage in enumerate(sorted(draw(st.lists(st.integers(0, 2), max_size=20)))):
        group = draw(st.sampled_from("abc"))
        earlier = [job.name for job in made]
        needs = draw(st.none() | st.lists(st.sampled_from([*earlier, "absent"]), max_size=3, unique=True))
        made.append(GroupedJob(f"{group} {position}", group, stage, None if needs is None else tuple(needs)))
    return made
