"""`parallel`: what each form gives, the instances it makes, and what is said about wrong ones."""

from math import prod

import pytest
from hypothesis import given as for_any
from hypothesis import strategies as st

from domain.config.readers.parallel import (
    MAX_INSTANCES,
    Instance,
    count_rows,
    has_matrix_expression,
    instances,
    read_parallel,
    read_picked,
    with_matrix_values,
)
from tests.domain.config.reading.fields import given, refused


@pytest.mark.parametrize(
    ("text", "parallel"),
    [
        ("1", 1),
        ("200", 200),
        ("{matrix: [{A: a}]}", ({"A": ("a",)},)),
        ("{matrix: [{A: [a, 1, '1.5', 'true'], B: b}]}", ({"A": ("a", "1", "1.5", "true"), "B": ("b",)},)),
        ("{matrix: []}", ()),
        ("{matrix: [{A: []}]}", ({"A": ()},)),
        ("{matrix: [{A: ''}, {B: [a, a]}]}", ({"A": ("",)}, {"B": ("a", "a")})),
        (f"{{matrix: [{{A: [{', '.join(map(str, range(200)))}]}}]}}", ({"A": tuple(map(str, range(200)))},)),
    ],
)
def test_given(text: str, parallel: int | tuple[dict[str, tuple[str, ...]], ...]) -> None:
    assert given(read_parallel, "parallel", text) == parallel


MATRIX = "parallel:matrix"
PAIRS = f"{MATRIX} config should be a hash of key value pairs, value can be an array; look at `A`"
QUOTE = ": a value is text or a whole number, and YAML reads {} here; quote it"
MANY = f"{MATRIX} config generates too many jobs (maximum is 200)"


@pytest.mark.parametrize(
    ("text", "line", "path", "message"),
    [
        ("two", 1, "parallel", "parallel config should be an integer or a hash"),
        ("true", 1, "parallel", "parallel config should be an integer or a hash"),
        ("[1]", 1, "parallel", "parallel config should be an integer or a hash"),
        ("0", 1, "parallel", "parallel config must be greater than or equal to 1"),
        ("201", 1, "parallel", "parallel config must be less than or equal to 200"),
        ("1.5", 1, "parallel", "parallel config must be an integer"),
        ("{}", 1, "parallel", "parallel config missing required keys: matrix"),
        ("{matrix: [{A: a}],\n matrices: 1}", 2, "parallel", "parallel config contains unknown keys: matrices"),
        ("{matrix: a}", 1, MATRIX, f"{MATRIX} config should be an array of hashes"),
        ("{matrix: [a]}", 1, MATRIX, f"{MATRIX} config should be an array of hashes"),
        ("{matrix: [{A: a},\n {}]}", 2, MATRIX, f"{MATRIX} config requires at least 1 items"),
        ("{matrix: [{B: b,\n A: [[a]]}]}", 2, MATRIX, PAIRS),
        ("{matrix: [{A: [3.9, 3.10]}]}", 1, MATRIX, PAIRS + QUOTE.format("3.9")),
        ("{matrix: [{A: yes}]}", 1, MATRIX, PAIRS + QUOTE.format("true")),
        ("{matrix: [{A: null}]}", 1, MATRIX, PAIRS),
        ("{matrix: [{A: [a, {b: c}]}]}", 1, MATRIX, PAIRS),
        (f"{{matrix: [{{A: {'[' * 11}a{']' * 11}}}]}}", 1, MATRIX, PAIRS),
        (f"{{matrix: [{{A: [{', '.join(map(str, range(201)))}]}}]}}", 1, MATRIX, MANY),
        ("{matrix: [{A: [1, 2, 3, 4, 5, 6], B: [1, 2, 3, 4, 5, 6], C: [1, 2, 3, 4, 5, 6]}]}", 1, MATRIX, MANY),
    ],
)
def test_refused(text: str, line: int, path: str, message: str) -> None:
    assert refused(read_parallel, "parallel", text) == [(line, path, message)]


def test_a_need_picks_by_matrix_only() -> None:
    assert given(read_picked, "parallel", "{matrix: [{A: a}]}") == ({"A": ("a",)},)
    said = 'parallel config cannot use "parallel: <number>"; write `parallel: {matrix: [...]}`'
    assert refused(read_picked, "parallel", "2") == [(1, "parallel", said)]


def test_numbered_instances() -> None:
    assert instances("a", 2) == (Instance("a 1/2", 1, 2, {}), Instance("a 2/2", 2, 2, {}))


def test_instances_of_a_matrix() -> None:
    made = instances("a", ({"X": ("1", "2"), "Y": ("p", "q")}, {"Z": ("z",)}))
    names = ["a: [1, p]", "a: [1, q]", "a: [2, p]", "a: [2, q]", "a: [z]"]
    assert [(one.name, one.index, one.total) for one in made] == [(name, i + 1, 5) for i, name in enumerate(names)]
    assert made[1].values == {"X": "1", "Y": "q"}


@for_any(st.lists(st.lists(st.integers(1, 30), min_size=1, max_size=4), max_size=4))
def test_rows_are_counted_up_to_the_limit(sizes: list[list[int]]) -> None:
    matrix = tuple({str(key): tuple(map(str, range(size))) for key, size in enumerate(mapping)} for mapping in sizes)
    rows = sum(map(prod, sizes))
    assert (count_rows(matrix) > MAX_INSTANCES) == (rows > MAX_INSTANCES)
    if rows <= MAX_INSTANCES:
        assert count_rows(matrix) == rows
        assert len(instances("a", matrix)) == len({tuple(one.values.items()) for one in instances("a", matrix)})


@pytest.mark.parametrize(
    ("matrix", "names"),
    [
        (({"A": ("a", "b", "a")},), ["a: [a]", "a: [b]"]),
        (({"A": ("a",), "B": ("b",)}, {"B": ("b",), "A": ("a",)}), ["a: [a, b]"]),
    ],
)
def test_a_combination_that_comes_twice_counts_once(
    matrix: tuple[dict[str, tuple[str, ...]], ...], names: list[str]
) -> None:
    made = instances("a", matrix)
    assert [one.name for one in made] == names
    assert {one.total for one in made} == {len(names)}


def test_of_combinations_with_the_same_name_the_last_is_the_job() -> None:
    made = instances("a", ({"A": ("a", "b")}, {"B": ("a",)}))
    assert [(one.name, one.index, one.total, one.values) for one in made] == [
        ("a: [a]", 3, 3, {"B": "a"}),
        ("a: [b]", 2, 3, {"A": "b"}),
    ]


def test_a_product_without_end_is_refused_at_once() -> None:
    mapping = ", ".join(f"K{number}: [a, b]" for number in range(20_000))
    assert refused(read_parallel, "parallel", f"{{matrix: [{{{mapping}}}]}}") == [(1, MATRIX, MANY)]


@pytest.mark.parametrize(
    ("text", "has", "replaced"),
    [
        ("a: [$[[ matrix.OS ]]]", True, "a: [linux]"),
        ("$[[matrix.OS]] and $[[  matrix.OS  ]]", True, "linux and linux"),
        ("$[[ matrix.OTHER ]]", True, "$[[ matrix.OTHER ]]"),
        ("$[[ inputs.OS ]]", False, "$[[ inputs.OS ]]"),
        ("$OS", False, "$OS"),
    ],
)
def test_values_of_the_matrix_in_a_text(text: str, has: bool, replaced: str) -> None:
    assert has_matrix_expression(text) is has
    assert with_matrix_values(text, {"OS": "linux"}) == replaced
