"""Nodes for jobs: each job in one, instances of a parallel job in the same one, and no circle."""

from hypothesis import given

from domain.graphs.grouping import GroupedJob, grouped
from domain.graphs.order import whole
from tests.domain.graphs.made import jobs


@given(jobs())
def test_each_job_is_in_one_node_and_there_is_no_circle(made: list[GroupedJob]) -> None:
    groups = grouped(made)
    assert sorted(one for group in groups for one in group.jobs) == list(range(len(made)))
    assert not whole([group.vertex for group in groups]).has_circle
    for group in groups:
        assert len({(made[one].stage, made[one].group) for one in group.jobs}) == 1


@given(jobs())
def test_a_node_needs_what_its_jobs_need(made: list[GroupedJob]) -> None:
    groups = grouped(made)
    node_of = {made[one].name: node for node, group in enumerate(groups) for one in group.jobs}
    for node, group in enumerate(groups):
        needs = [made[one].needs for one in group.jobs]
        if all(one is None for one in needs):
            assert group.vertex.needs is None
            continue
        expected = {node_of[name] for one in needs for name in one or () if name in node_of} - {node}
        assert set(group.vertex.needs or ()) == expected


def test_instances_are_one_node() -> None:
    made = [GroupedJob(f"a {at}/3", "a", 0, ()) for at in (1, 2, 3)] + [GroupedJob("b", "b", 1, ("a 1/3", "a 3/3"))]
    first, second = grouped(made)
    assert (first.name, first.jobs, second.vertex.needs) == ("a", (0, 1, 2), (0,))


def test_a_group_of_one_has_the_whole_name() -> None:
    (only,) = grouped([GroupedJob("a 1/1", "a", 0, None)])
    assert only.name == "a 1/1"


def test_equal_names_in_two_stages_are_two_nodes() -> None:
    made = [GroupedJob("a 1/2", "a", 0, None), GroupedJob("a 2/2", "a", 1, None)]
    assert [group.jobs for group in grouped(made)] == [(0,), (1,)]


def test_only_groups_in_a_circle_are_taken_apart() -> None:
    made = [
        GroupedJob("a 1/2", "a", 0, ("b 1/2",)),
        GroupedJob("a 2/2", "a", 0, ()),
        GroupedJob("b 1/2", "b", 0, ()),
        GroupedJob("b 2/2", "b", 0, ("a 2/2",)),
        GroupedJob("c 1/2", "c", 0, ()),
        GroupedJob("c 2/2", "c", 0, ()),
    ]
    assert [group.name for group in grouped(made)] == ["a 1/2", "a 2/2", "b 1/2", "b 2/2", "c"]
