"""Values as plain JSON, and mappings that follow a table."""

import json

import pytest
from hypothesis import given as for_any
from hypothesis import strategies as st

from domain.config.reading import checks
from domain.config.reading.documents import Key, Shape, mapping, plain, read_shape
from tests.domain.config.reading.fields import given, refused

INNER: Shape = {"flag": Key(checks.boolean)}
SHAPE: Shape = {
    "long_name": Key(checks.text, required=True),
    "inner": Key(lambda field: read_shape(field, INNER), nested=True),
}

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63) + 1, 2**63 - 1)
    | st.text(st.characters(min_codepoint=32, max_codepoint=126)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=10,
)


@for_any(VALUES)
def test_json_comes_back_as_it_was(value: object) -> None:
    assert given(plain, "k", json.dumps(value)) == value


@pytest.mark.parametrize("number", [".inf", "-.inf", ".nan", str(2**63), str(-(2**63)), "1.0e+30"])
def test_numbers_that_json_cannot_carry(number: str) -> None:
    said = "k config contains a number that is not finite or too large; put quotes around it"
    assert refused(plain, "k", f"{{a: [1,\n  {number}]}}") == [(2, "k", said)]


def test_a_mapping() -> None:
    assert given(mapping, "k", "{a: [1]}") == {"a": [1]}
    assert refused(mapping, "k", "[a]") == [(1, "k", "k config should be a hash")]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("{long_name: a}", {"long_name": "a"}),
        ("{long_name: a, inner: null}", {"long_name": "a"}),
        ("{inner: {flag: true}, long_name: ''}", {"long_name": "", "inner": {"flag": True}}),
    ],
)
def test_what_follows_the_shape(text: str, found: object) -> None:
    assert given(lambda field: read_shape(field, SHAPE), "k", text) == found


@pytest.mark.parametrize(
    ("text", "line", "path", "message"),
    [
        ("[a]", 1, "k", "k config should be a hash"),
        ("{}", 1, "k", "k long name can't be blank"),
        ("{\n long_name: 1}", 2, "k:long_name", "k long name should be a string"),
        ("{long_name: a,\n iner: {}}", 2, "k", "k config contains unknown keys: iner; did you mean `inner`?"),
        ("{long_name: a, inner: {\n flag: 1}}", 2, "k:inner:flag", "k:inner flag should be a boolean value"),
        ("{long_name: a,\n inner: 1}", 2, "k:inner", "k:inner config should be a hash"),
    ],
)
def test_what_does_not(text: str, line: int, path: str, message: str) -> None:
    assert refused(lambda field: read_shape(field, SHAPE), "k", text) == [(line, path, message)]
