"""Values for the inputs of a job: checked against what it declares."""

from typing import Any

import pytest

from domain.config.inputs.given_inputs import given_inputs
from domain.errors import Invalid

DECLARED: dict[str, dict[str, Any]] = {
    "level": {"type": "number", "default": 3, "options": [1, 3, 5]},
    "name": {"type": "string", "default": "a", "regex": "^[a-z]+$"},
    "fast": {"type": "boolean", "default": False},
    "parts": {"type": "array", "default": []},
}


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({}, {}),
        ({"level": 5}, {"level": 5}),
        ({"level": "5"}, {"level": 5}),
        ({"name": "bc", "fast": "true"}, {"name": "bc", "fast": True}),
        ({"parts": ["a", {"b": 1}]}, {"parts": ["a", {"b": 1}]}),
        ({"parts": '["a"]'}, {"parts": ["a"]}),
    ],
)
def test_values_become_what_their_types_want(given: dict[str, Any], found: dict[str, Any]) -> None:
    assert given_inputs(DECLARED, given) == found


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"levle": 1}, "The job has no input `levle`; it has level, name, fast, parts; did you mean `level`?"),
        ({"level": 2}, "`level` input: `2` cannot be used because it is not in the list of allowed options: 1, 3, 5"),
        ({"level": "x"}, "`level` input: provided value is not a number"),
        ({"name": "A1"}, "`name` input: provided value does not match required RegEx pattern `^[a-z]+$`"),
        ({"name": ["a"]}, "`name` input: provided value is not a string"),
        ({"fast": "maybe"}, "`fast` input: provided value is not a boolean"),
        ({"parts": "a"}, "`parts` input: provided value is not an array"),
    ],
)
def test_what_is_wrong_is_said_with_the_name(given: dict[str, Any], said: str) -> None:
    with pytest.raises(Invalid) as refused:
        given_inputs(DECLARED, given)
    assert said in str(refused.value)


def test_a_job_without_inputs_takes_none() -> None:
    with pytest.raises(Invalid, match="it has none"):
        given_inputs({}, {"a": 1})
