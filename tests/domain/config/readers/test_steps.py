"""`run`: what each form gives, and what is said about wrong ones."""

from typing import Any

import pytest

from domain.config.readers.steps import read_steps
from tests.domain.config.reading.fields import given, refused


@pytest.mark.parametrize(
    ("text", "step"),
    [
        ("{name: a, script: make}", {"name": "a", "script": "make"}),
        ("{name: a, script: b, env: {C: d}}", {"name": "a", "script": "b", "env": {"C": "d"}}),
        ("{name: a_1, step: ./b}", {"name": "a_1", "step": "./b"}),
        ("{name: a, func: 'reg/repo:1'}", {"name": "a", "func": "reg/repo:1"}),
        (
            "{name: a, step: b, inputs: {c: 1, d: 1.5, e: true, f: null, g: [h], i: {j: k}}}",
            {
                "name": "a",
                "step": "b",
                "inputs": {"c": 1, "d": 1.5, "e": True, "f": None, "g": ["h"], "i": {"j": "k"}},
            },
        ),
        (
            "{name: a, step: {git: {url: u, rev: r, dir: d, file: f}}}",
            {"name": "a", "step": {"git": {"url": "u", "rev": "r", "dir": "d", "file": "f"}}},
        ),
        (
            "{name: a, func: {oci: {registry: r, repository: p, tag: '1'}}}",
            {"name": "a", "func": {"oci": {"registry": "r", "repository": "p", "tag": "1"}}},
        ),
    ],
)
def test_given(text: str, step: Any) -> None:
    assert given(read_steps, "run", f"[{text}]") == (step,)


def test_the_order_stays() -> None:
    found = given(read_steps, "run", "[{name: z, script: x}, {name: a, script: x}]")
    assert [step["name"] for step in found] == ["z", "a"]


ONE = "run:0 config must use exactly one of these keys: script, step, func"
NAME = "run:0 name can contain only letters, digits and '_', and cannot start with a digit"
NAMES = "names are letters, digits and '_', and start with no digit"


@pytest.mark.parametrize(
    ("text", "line", "path", "message"),
    [
        ("a", 1, "run", "run config should be an array of steps"),
        ("{name: a, script: b}", 1, "run", "run config should be an array of steps"),
        ("[]", 1, "run", "run config can't be blank"),
        ("[a]", 1, "run:0", "run:0 config should be a hash"),
        ("[{name: a, script: b},\n null]", 2, "run:1", "run:1 config should be a hash"),
        ("[{name: a}]", 1, "run:0", ONE),
        ("[{name: a, script: b, step: c}]", 1, "run:0", ONE),
        ("[{name: a, step: b, func: c}]", 1, "run:0", ONE),
        ("[{script: b}]", 1, "run:0", "run:0 name can't be blank"),
        ("[{\n name: a-b, script: c}]", 2, "run:0:name", NAME),
        ("[{name: 1a, script: c}]", 1, "run:0:name", NAME),
        ("[{name: 1, script: c}]", 1, "run:0:name", "run:0 name should be a string"),
        (
            "[{name: a, script: b},\n {name: a, script: c}]",
            2,
            "run:1:name",
            "run:1 name has already been taken by step 0; choose another one",
        ),
        ("[{name: a, script: ''}]", 1, "run:0:script", "run:0 script can't be blank"),
        ("[{name: a, script: [b]}]", 1, "run:0:script", "run:0 script should be a string"),
        ("[{name: a, script: b,\n inputs: {c: d}}]", 2, "run:0", "run:0 config contains unknown keys: inputs"),
        (
            "[{name: a, script: b,\n envs: {}}]",
            2,
            "run:0",
            "run:0 config contains unknown keys: envs; did you mean `env`?",
        ),
        ("[{name: a, script: b, env: [c]}]", 1, "run:0:env", "run:0:env config should be a hash"),
        ("[{name: a, script: b, env: {\n C: 1}}]", 2, "run:0:env:C", "run:0:env C should be a string"),
        (
            "[{name: a, script: b, env: {\n C-D: e}}]",
            2,
            "run:0:env",
            f"run:0:env config contains unknown keys: C-D; {NAMES}",
        ),
        (
            "[{name: a, step: b, inputs: {\n c d: e}}]",
            2,
            "run:0:inputs",
            f"run:0:inputs config contains unknown keys: c d; {NAMES}",
        ),
        ("[{name: a, step: b, inputs: c}]", 1, "run:0:inputs", "run:0:inputs config should be a hash"),
        (
            "[{name: a, step: b, inputs: {c: [.inf]}}]",
            1,
            "run:0:inputs",
            "run:0:inputs config contains a number that is not finite or too large; put quotes around it",
        ),
        ("[{name: a, step: [b]}]", 1, "run:0:step", "run:0:step config should be a hash or a string"),
        ("[{name: a, step: ''}]", 1, "run:0:step", "run:0:step config can't be blank"),
        (
            "[{name: a, step: {}}]",
            1,
            "run:0:step",
            "run:0:step config must use exactly one of these keys: git, oci",
        ),
        ("[{name: a, step: {git: {rev: r}}}]", 1, "run:0:step:git", "run:0:step:git url can't be blank"),
        (
            "[{name: a, step: {git: {url: u, rev: r,\n path: p}}}]",
            2,
            "run:0:step:git",
            "run:0:step:git config contains unknown keys: path",
        ),
        (
            "[{name: a, func: {oci: {registry: r, repository: p,\n tag: 1}}}]",
            2,
            "run:0:func:oci:tag",
            "run:0:func:oci tag should be a string",
        ),
    ],
)
def test_refused(text: str, line: int, path: str, message: str) -> None:
    assert refused(read_steps, "run", text) == [(line, path, message)]
