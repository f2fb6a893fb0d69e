"""Inputs and outputs against what a step declares."""

from typing import Any

import pytest

from domain.errors import Invalid
from domain.steps.binding import bound_inputs, bound_outputs, passed_outputs
from domain.steps.definition import Parameter
from domain.steps.rendering import Known
from domain.steps.values import ValueType

DECLARED = {
    "who": Parameter(ValueType.STRING),
    "times": Parameter(ValueType.NUMBER, has_default=True, default=2),
    "token": Parameter(ValueType.STRING, has_default=True, default="", is_sensitive=True),
}
VALUES: dict[ValueType, Any] = {
    ValueType.STRING: "a",
    ValueType.NUMBER: 1.5,
    ValueType.BOOLEAN: True,
    ValueType.ARRAY: [1],
    ValueType.STRUCT: {"a": 1},
}


def test_defaults_take_the_place_of_what_is_not_given() -> None:
    assert bound_inputs(DECLARED, {"who": Known("ada")}) == {
        "who": Known("ada"),
        "times": Known(2),
        "token": Known("", is_sensitive=True),
    }


def test_what_is_declared_sensitive_is_sensitive_whatever_it_was() -> None:
    assert bound_inputs(DECLARED, {"who": Known("a"), "token": Known("t")})["token"] == Known("t", is_sensitive=True)
    assert bound_outputs(DECLARED, {"who": "a", "token": "t"})["token"].is_sensitive


@pytest.mark.parametrize("wanted", ValueType)
@pytest.mark.parametrize("given", ValueType)
def test_types_are_equal_or_the_step_fails(wanted: ValueType, given: ValueType) -> None:
    declared = {"x": Parameter(wanted)}
    if wanted is given:
        assert bound_outputs(declared, {"x": VALUES[given]})["x"].value == VALUES[given]
    else:
        with pytest.raises(Invalid, match=f"output x is of type {wanted}, and got a value of type {given}"):
            bound_outputs(declared, {"x": VALUES[given]})


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "input who is missing: it has no default"),
        ({"whom": Known("a")}, "there is no input whom; did you mean `who`?; inputs: who, times, token"),
        ({"who": Known(None)}, "input who is of type string, and got a value of type null"),
        ({"who": Known("s", is_sensitive=True)}, "input who gets a sensitive value"),
        ({"who": Known("a"), "token": Known(123456)}, "type number ([sensitive])"),
        ({"who": Known([1] * 50)}, "type array ([1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1...)"),
    ],
)
def test_what_is_wrong_with_inputs(given: dict[str, Known], said: str) -> None:
    with pytest.raises(Invalid) as refused:
        bound_inputs(DECLARED, given)
    assert said in str(refused.value)


def test_what_is_wrong_with_outputs() -> None:
    with pytest.raises(Invalid, match="output who is missing: the step did not write it"):
        bound_outputs(DECLARED, {})
    with pytest.raises(Invalid, match="there is no output x; outputs: none"):
        bound_outputs({}, {"x": 1})
    with pytest.raises(Invalid, match="output who gets a sensitive value"):
        passed_outputs(DECLARED, {"who": Known("s", is_sensitive=True)})
    assert passed_outputs(DECLARED, {"who": Known("a"), "token": Known("s", is_sensitive=True)})["token"].is_sensitive
