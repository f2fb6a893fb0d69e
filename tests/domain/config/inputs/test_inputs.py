"""Values of inputs: those that are given, defaults, rules, and everything that is refused."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.config.inputs.header import Header, read_header
from domain.config.inputs.input_types import InputType, same, text_of
from domain.config.inputs.inputs import check_pipeline_inputs, input_values
from domain.config.issue import ConfigIssue
from domain.config.reading.issues import Issues
from domain.config.reading.source import read
from domain.config.reading.tree import Items, Map, Place, Value
from domain.errors import ConfigInvalid

HERE = Place(9, 3)
"""Where the values are given."""


def header_of(inputs: str) -> Header:
    """A right header with these inputs, in flow style."""
    issues = Issues(".gitlab-ci.yml")
    source = read(f"spec: {{inputs: {inputs}}}\n---\njob: {{script: x}}\n", issues)
    assert source.header is not None
    header = read_header(source.header, issues)
    issues.raise_if_any()
    return header


def given_of(text: str) -> Map:
    """Values as an `include` gives them."""
    return read(text, Issues("")).root


def values(inputs: str, given: Any) -> dict[str, Value]:
    """The values of these inputs; raises `ConfigInvalid` if something is wrong."""
    issues = Issues(".gitlab-ci.yml")
    found = input_values(header_of(inputs), given, issues, HERE, "")
    issues.raise_if_any()
    return dict(found)


def wrong(inputs: str, given: Any, what: str = "") -> list[ConfigIssue]:
    """What is wrong with the given values."""
    issues = Issues(".gitlab-ci.yml")
    input_values(header_of(inputs), given, issues, HERE, what)
    with pytest.raises(ConfigInvalid) as caught:
        issues.raise_if_any()
    return list(caught.value.issues)


@pytest.mark.parametrize(
    ("declared", "given", "value"),
    [
        ("", "text", "text"),
        ("", "", ""),
        ("", 3, "3"),
        ("", 1.5, "1.5"),
        ("", True, "true"),
        ("type: string", "[1]", "[1]"),
        ("default: x", None, "x"),
        ("default: 7", None, "7"),
        ("default: null", None, ""),
        ("type: number", 3, 3),
        ("type: number", "3", 3),
        ("type: number", "-1.5e2", -150.0),
        ("type: number, default: '4'", None, 4),
        ("type: number, default: null", None, None),
        ("type: boolean", False, False),
        ("type: boolean", "true", True),
        ("type: boolean, default: false", None, False),
        ("type: array", ["a", {"b": [1]}], ["a", {"b": [1]}]),
        ("type: array", '["a", {"b": [true, null]}]', ["a", {"b": [True, None]}]),
        ("type: array, default: []", None, []),
        ("options: [a, 1]", "1", "1"),
        ("options: [a, 1]", 1, "1"),
        ("type: number, options: [1, 2]", "2", 2),
        ("type: number, options: [1, 2]", 2.0, 2.0),
        ("regex: '^v[0-9]+$'", "v12", "v12"),
        ("regex: ^$", "", ""),
    ],
)
def test_right(declared: str, given: Any, value: Any) -> None:
    found = values(f"{{x: {{{declared}}}}}", {"x": given})["x"]
    assert same(found, value)
    assert type(found) in (type(value), Items)


@pytest.mark.parametrize(
    ("declared", "given", "said"),
    [
        ("", None, "`x` input: required value has not been provided"),
        ("type: number", None, "`x` input: required value has not been provided"),
        ("", [1], "`x` input: provided value is not a string"),
        ("", {"a": 1}, "`x` input: provided value is not a string"),
        ("type: number", "abc", "`x` input: provided value is not a number"),
        ("type: number", '"3"', "`x` input: provided value is not a number"),
        ("type: number", "NaN", "`x` input: provided value is not a number"),
        ("type: number", "1e999", "`x` input: provided value is not a number"),
        ("type: number", float("inf"), "`x` input: provided value is not a number"),
        ("type: number", "9" * 5000, "`x` input: provided value is not a number"),
        ("type: number", 10**200, "`x` input: provided value has too many digits"),
        ("type: number", True, "`x` input: provided value is not a number"),
        ("type: boolean", 1, "`x` input: provided value is not a boolean"),
        ("type: boolean", "yes", "`x` input: provided value is not a boolean"),
        ("type: array", "a,b", "`x` input: provided value is not an array"),
        ("type: array", {"a": 1}, "`x` input: provided value is not an array"),
        ("type: array", "[" * 100_000, "`x` input: provided value is not an array"),
        ("type: array", "[" * 200 + "]" * 200, "`x` input: provided value is nested deeper than 100 levels"),
        ("type: array", '["\\ud800"]', "`x` input: provided value holds characters that are not valid Unicode"),
        ("type: array", [b"bytes"], "`x` input: provided value is neither text nor a number"),
        (
            "options: [staging, live]",
            "stagin",
            "`stagin` cannot be used because it is not in the list of allowed options: staging, live; did you mean `st",
        ),
        ("options: [a]", "", "`x` input: `` cannot be used because it is not in the list of allowed options"),
        ("type: number, options: [1, 2]", "3", "`3` cannot be used because it is not in the list of allowed options"),
        ("regex: ^v", "1v", "`x` input: provided value does not match required RegEx pattern `^v`"),
        ("regex: ^v", "", "`x` input: provided value does not match required RegEx pattern"),
        ("default: v, regex: ^v", "x", "`x` input: provided value does not match required RegEx pattern"),
    ],
)
def test_refused(declared: str, given: Any, said: str) -> None:
    (issue,) = wrong(f"{{x: {{{declared}}}}}", {"x": given})
    assert said in issue.message
    assert (issue.line, issue.column, issue.path) == (9, 3, "inputs:x")


def test_everything_that_is_wrong_is_told_where_it_stands() -> None:
    given = given_of("one: 1\nsecnd: 2\nthree: x\n")
    issues = wrong("{one: {regex: ^x}, second: , three: {type: number}}", given, "`t.yml`")
    assert [(issue.line, issue.message) for issue in issues] == [
        (1, "`t.yml`: `one` input: provided value does not match required RegEx pattern `^x`"),
        (2, "`t.yml`: unknown input arguments: secnd; did you mean `second`?"),
        (3, "`t.yml`: `three` input: provided value is not a number"),
        (9, "`t.yml`: `second` input: required value has not been provided; give it a value or a `default`"),
    ]


def test_inputs_for_a_file_without_a_header() -> None:
    issues = Issues(".gitlab-ci.yml")
    assert input_values(None, {}, issues, HERE, "") == {}
    issues.raise_if_any()
    input_values(None, {"a": 1}, issues, HERE, "`t.yml`")
    said = "Given inputs not defined in the `spec` section of the included configuration file"
    with pytest.raises(ConfigInvalid, match=said):
        issues.raise_if_any()


def test_what_is_declared_wrongly_is_told_once() -> None:
    issues = Issues(".gitlab-ci.yml")
    source = read("spec: {inputs: {x: {type: text}}}\n---\n{}\n", issues)
    assert source.header is not None
    header = read_header(source.header, issues)
    assert input_values(header, {"x": 1}, issues, HERE, "") == {"x": None}
    assert len(issues) == 1


@pytest.mark.parametrize(("count", "right"), [(20, True), (21, False)])
def test_a_pipeline_takes_twenty_inputs(count: int, right: bool) -> None:
    issues = Issues(".gitlab-ci.yml")
    check_pipeline_inputs({str(number): number for number in range(count)}, issues)
    assert (len(issues) == 0) is right


CLOUD = """{
  cloud: {options: [aws, gcp, other], default: aws},
  live: {type: boolean, default: false},
  machine: {rules: [
    {if: "$[[ inputs.cloud ]] == 'aws' && $[[ inputs.live ]] == true", options: [large, huge], default: large},
    {if: "$[[ inputs.cloud ]] == 'aws'", options: [small], default: small},
    {if: "$[[ inputs.cloud ]] =~ /^g/", default: null},
    {options: [any], default: any}]}
}"""


@pytest.mark.parametrize(
    ("given", "machine"),
    [
        ({}, "small"),
        ({"live": "true"}, "large"),
        ({"live": True, "machine": "huge"}, "huge"),
        ({"live": True, "machine": ""}, "large"),
        ({"cloud": "gcp"}, ""),
        ({"cloud": "gcp", "machine": "mine"}, "mine"),
        ({"cloud": "other"}, "any"),
    ],
)
def test_the_first_rule_that_holds_sets_options_and_default(given: dict[str, Any], machine: str) -> None:
    assert values(CLOUD, given)["machine"] == machine


def test_options_of_a_rule_bind() -> None:
    (issue,) = wrong(CLOUD, {"machine": "huge"})
    assert issue.message == (
        "`machine` input: `huge` cannot be used because it is not in the list of allowed options: small"
    )


@pytest.mark.parametrize(
    ("condition", "given", "holds"),
    [
        ("$[[ inputs.flag ]]", {"flag": True}, True),
        ("$[[ inputs.flag ]]", {"flag": False}, False),
        ("$[[ inputs.flag ]]", {}, False),
        ("! $[[ inputs.flag ]]", {"flag": "false"}, True),
        ("$[[inputs.flag]] == null", {}, True),
        ("$[[ inputs.text ]] == 'a'", {"text": "a"}, True),
        ("$[[ inputs.text ]] == $[[ inputs.other ]]", {"text": "a' || 'a", "other": "a' || 'a"}, True),
        ("$[[ inputs.text ]] == 'a'", {"text": "b' || 'a' == 'a"}, False),
        ("$[[ inputs.count ]] == '3'", {"count": 3}, False),
        ("$[[ inputs.list ]] == null", {"list": ["a"]}, True),
        ("$[[ inputs.a-b ]] != 'x'", {"a-b": "y"}, True),
        ("$UNKNOWN == null", {}, True),
    ],
)
def test_conditions(condition: str, given: dict[str, Any], holds: bool) -> None:
    declared = (
        "{flag: {type: boolean, default: null}, text: {default: ''}, other: {default: ''}, a-b: {default: ''},"
        " count: {type: number, default: 0}, list: {type: array, default: []},"
        f' chosen: {{rules: [{{if: "{condition}", default: right}}]}}}}'
    )
    assert values(declared, given)["chosen"] == ("right" if holds else "")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda below: st.lists(below, max_size=4) | st.dictionaries(st.text(max_size=3), below, max_size=4),
    max_leaves=12,
)


@settings(max_examples=200)
@given(kind=st.sampled_from(list(InputType)), value=JSON | st.text().map(str) | JSON.map(json.dumps))
def test_any_json_is_taken_or_refused(kind: InputType, value: Any) -> None:
    """And what is taken is of the type."""
    types: dict[InputType, type | tuple[type, ...]] = {
        InputType.STRING: str,
        InputType.NUMBER: (int, float),
        InputType.BOOLEAN: bool,
        InputType.ARRAY: Items,
    }
    issues = Issues(".gitlab-ci.yml")
    found = input_values(header_of(f"{{x: {{type: {kind}}}}}"), {"x": value}, issues, HERE, "")["x"]
    assert len(issues) == (0 if isinstance(found, types[kind]) else 1)


def test_a_value_is_written_as_text_only_as_far_as_the_limit() -> None:
    long = "x" * 1_000
    many = Items(elements=[(long, HERE)] * 100_000)
    assert text_of(many, 10_000) is None
    assert text_of(Items(elements=[("a", HERE), (True, HERE), (None, HERE)]), 100) == '["a", true, null]'
