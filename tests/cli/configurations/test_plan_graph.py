"""Pictures of plans."""

import re
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cli.configurations.graph_svg import SIZES, svg
from cli.configurations.plan_graph import mermaid, nodes
from domain.config.plan import JobPlan, Plan, When
from domain.graphs.layout import Layout, by_stage
from tests.cli.plans import absent, job, needs, plan

WIDTH, HEIGHT, ROW, MAX_ROWS = SIZES.width, SIZES.height, SIZES.row, SIZES.max_rows
SVG = "{http://www.w3.org/2000/svg}"


def parallel(name: str, total: int, stage: str = "test") -> list[JobPlan]:
    """The instances of a parallel job."""
    return [job(f"{name} {at}/{total}", stage, node_index=at, node_total=total) for at in range(1, total + 1)]


def layout(made: Plan) -> Layout:
    """Where the nodes of a plan stand."""
    return by_stage([node.vertex for node in nodes(made)], len(made.stages), SIZES)


def by_class(text: str, name: str) -> list[ElementTree.Element]:
    """The elements of a picture with a class."""
    return [one for one in ElementTree.fromstring(text).iter() if name in one.get("class", "").split()]


def test_instances_are_one_node() -> None:
    made = plan(*parallel("a", 3, "build"), job("b", needs=needs("a 1/3", "a 2/3", "a 3/3")))
    drawn = nodes(made)
    assert [node.label for node in drawn] == ["a ×3", "b"]
    assert drawn[1].needs == (0,)


def test_a_name_that_only_looks_parallel_stays() -> None:
    assert [node.label for node in nodes(plan(job("a 1/2"), job("a 2/2")))] == ["a 1/2", "a 2/2"]


def test_mermaid() -> None:
    made = plan(
        job("a", "build"), job("b", needs=needs("a")), job("c"), job('d "x"', "end", when=When.MANUAL, needs=())
    )
    assert mermaid(made).splitlines() == [
        "flowchart LR",
        '  subgraph s0["build"]',
        '    n0("a")',
        "  end",
        '  subgraph s1["test"]',
        '    n1("b")',
        '    n2("c")',
        "  end",
        '  subgraph s2["end"]',
        '    n3("d #34;x#34;<br/><i>manual</i>"):::manual',
        "  end",
        "  n0 --> n1",
        "  s0 -.-> s1",
        "  classDef manual stroke-dasharray: 4 3",
    ]


def test_svg_shows_every_job_and_need() -> None:
    made = plan(job("a", "build"), job("b", needs=needs("a", optional=True)), job("c"), absent=(absent("d"),))
    text = svg(made, "Push to main")
    assert len(by_class(text, "node")) == 3
    assert [edge.get("class") for edge in by_class(text, "edge")] == ["edge e0 e1 optional"]
    assert len(by_class(text, "flow")) == 1, "c waits for the stage before"
    assert "3 jobs in 2 stages, 1 not in this pipeline" in text
    assert "prefers-color-scheme:dark" in text


def test_svg_needs_nothing_from_elsewhere() -> None:
    text = svg(plan(job("a")), "x")
    addresses = re.findall(r"https?://[^\"]*", text)
    assert addresses == ["http://www.w3.org/2000/svg"]
    assert "<script" not in text


def test_names_cannot_break_the_picture() -> None:
    text = svg(plan(job("</text><script>x</script>\x1b[0m", "<&>")), "a\x00<b>")
    root = ElementTree.fromstring(text)
    assert not list(root.iter(f"{SVG}script"))
    assert "\x1b" not in text


def test_needs_inside_a_stage_go_to_the_right() -> None:
    made = plan(job("c", needs=needs("b")), job("b", needs=needs("a")), job("a", needs=()))
    where = layout(made)
    left = [where.corners[position][0] for position in range(3)]
    assert left[2] < left[1] < left[0]


def test_parallel_jobs_that_need_each_other_are_drawn_as_single_ones() -> None:
    made = plan(
        job("a 1/2", node_index=1, node_total=2, needs=needs("b 1/2")),
        job("a 2/2", node_index=2, node_total=2, needs=()),
        job("b 1/2", node_index=1, node_total=2, needs=()),
        job("b 2/2", node_index=2, node_total=2, needs=needs("a 2/2")),
    )
    assert len(nodes(made)) == len(layout(made).corners) == 4


@pytest.mark.parametrize("count", [1, MAX_ROWS, MAX_ROWS + 1, 200])
def test_a_tall_stage_is_folded(count: int) -> None:
    made = plan(*(job(f"j{at}") for at in range(count)))
    where = layout(made)
    assert where.height <= MAX_ROWS * ROW + 300
    assert len(set(where.corners.values())) == count


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Plans with needs between any jobs, as long as there is no circle."""
    count = draw(st.integers(0, 25))
    jobs = []
    for at in range(count):
        earlier = st.lists(st.integers(0, at - 1), unique=True, max_size=4) if at else st.just([])
        stage = f"s{draw(st.integers(0, 2))}"
        chosen = draw(st.none() | earlier)
        jobs.append(job(f"j{at}", stage, needs=None if chosen is None else needs(*(f"j{one}" for one in chosen))))
    return plan(*jobs)


@settings(max_examples=60, database=None)
@given(plans())
def test_no_two_nodes_overlap_and_all_are_inside(made: Plan) -> None:
    where = layout(made)
    corners = list(where.corners.values())
    assert len(corners) == len(made.jobs)
    for at, (x, y) in enumerate(corners):
        assert 0 < x <= where.width - WIDTH
        assert 0 < y <= where.height - HEIGHT
        assert all(abs(x - a) >= WIDTH or abs(y - b) >= HEIGHT for a, b in corners[:at])
    ElementTree.fromstring(svg(made, "x"))
