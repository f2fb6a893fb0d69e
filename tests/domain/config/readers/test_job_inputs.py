"""`inputs` of a job."""

import json
from typing import Any

import pytest

from domain.config.issue import ConfigIssue
from domain.config.readers.job_inputs import read_job_inputs
from domain.config.reading.field import Field
from domain.config.reading.issues import Issues
from domain.config.reading.source import read
from domain.errors import ConfigInvalid


def field_of(text: str, issues: Issues) -> Field:
    """The keyword in a job, in flow style."""
    root = read(f"inputs: {text}", issues).root
    return Field(root, "jobs:alpha", "jobs:alpha config", root.place, issues).entry("inputs")


def right(text: str) -> Any:
    """What it becomes."""
    issues = Issues(".gitlab-ci.yml")
    found = read_job_inputs(field_of(text, issues))
    issues.raise_if_any()
    return found


def wrong(text: str) -> list[ConfigIssue]:
    """What is said about it."""
    issues = Issues(".gitlab-ci.yml")
    assert read_job_inputs(field_of(text, issues)) is None
    with pytest.raises(ConfigInvalid) as caught:
        issues.raise_if_any()
    return list(caught.value.issues)


def test_every_field_is_carried_as_json() -> None:
    found = right(
        "{a: {default: x, options: [x, 1], regex: '^.$', description: Which},"
        " b: {type: number, default: '3'}, c: {type: boolean, default: false}, d: {type: array, default: [{e: [1]}]}}"
    )
    assert found == {
        "a": {"type": "string", "default": "x", "options": ["x", "1"], "regex": "^.$", "description": "Which"},
        "b": {"type": "number", "default": 3},
        "c": {"type": "boolean", "default": False},
        "d": {"type": "array", "default": [{"e": [1]}]},
    }
    assert json.loads(json.dumps(found)) == found


def test_none_is_nothing() -> None:
    assert right("{}") == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[a]", "jobs:alpha:inputs config should be a hash"),
        ("{a: }", "jobs:alpha:inputs:a must have a default value"),
        ("{a: {default: null}}", "jobs:alpha:inputs:a must have a default value"),
        ("{a: {type: number}}", "jobs:alpha:inputs:a must have a default value"),
        ("{a: text}", "jobs:alpha:inputs:a config should be a hash"),
        ("{a: {default: x, rules: []}}", "jobs:alpha:inputs:a config contains unknown keys: rules"),
        ("{a: {default: x, typ: y}}", "contains unknown keys: typ; did you mean `type`?"),
        ("{a: {default: x, type: number}}", "jobs:alpha inputs `a`: default value is not a number"),
        ("{a: {default: x, type: text}}", "jobs:alpha:inputs:a input type unknown value: text"),
        ("{a: {default: x, options: [y]}}", "`a`: `x` cannot be used because it is not in the list of allowed options"),
        ("{a: {default: x, regex: y}}", "jobs:alpha inputs `a`: default value does not match required RegEx pattern"),
        ("{a: {default: 1.0e+300, type: number}}", "contains a number that is not finite or too large"),
    ],
)
def test_refused(text: str, said: str) -> None:
    (issue,) = wrong(text)
    assert said in issue.message
    assert issue.line == 1


def test_fifty_and_no_more() -> None:
    inputs = ", ".join(f"a{number}: {{default: x}}" for number in range(50))
    assert len(right(f"{{{inputs}}}")) == 50
    (issue,) = wrong(f"{{{inputs}, b: {{default: x}}}}")
    assert issue.message == "jobs:alpha inputs has too many entries (maximum 50)"
