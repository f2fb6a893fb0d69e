"""Values that nobody could tell are refused wherever they come from."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.errors import Invalid
from domain.moa.values import Value
from domain.steps.values import MAX_NESTED, check_value


def nested(levels: int, inner: Value = "x") -> Value:
    """Lists and objects in one another, in turn."""
    for level in range(levels):
        inner = [inner] if level % 2 else {"a": inner}
    return inner


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (2**63, "a number that is too large"),
        (-(2**63) - 1, "a number that is too large"),
        (10**400, "a number that is too large"),
        ([{"a": 2**64}], "a number that is too large"),
        (float("inf"), "a number that is not finite"),
        ({"a": float("nan")}, "a number that is not finite"),
        ("\ud800", "half of a character"),
        ({"\udfff": 1}, "half of a character"),
        (nested(MAX_NESTED + 1), "nested more than 20 times"),
        (nested(900), "nested more than 20 times"),
    ],
)
def test_it_is_refused_with_its_place(value: Value, said: str) -> None:
    with pytest.raises(Invalid, match=f"^output x .*{said}"):
        check_value("output x", value)


@pytest.mark.parametrize("value", [2**63 - 1, -(2**63), 1e308, True, None, "", "\U0001f600", nested(MAX_NESTED)])
def test_what_can_be_told_is_taken(value: Value) -> None:
    check_value("output x", value)


JSON: Any = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(JSON)
def test_all_of_json_is_taken(value: Value) -> None:
    check_value("x", value)
