"""`docs/step.schema.json` takes and refuses what the step runner does, as far as a schema can see it."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from domain.errors import ConfigInvalid
from domain.steps.reading import read_definition

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "docs/step.schema.json").read_text())
EXAMPLES = sorted((ROOT / "examples/steps").glob("*/step.yml"))
RIGHT = (
    "{}\n---\nexec: {command: [a]}",
    "spec:\n---\nenv: {A: b}\nexec: {command: [a, b], work_dir: c}",
    "spec: {inputs: {a: {type: struct, default: {}, sensitive: true}}}\n---\nexec: {command: [a]}",
    "spec: {outputs: delegate}\n---\nrun: [{name: a, step: ./b}]\ndelegate: a",
    "spec: {outputs: {x: {type: array}}}\n---\nsteps: [{name: a, script: b}]\noutputs: {x: [1]}",
    "{}\n---\nrun: [{name: a, func: {git: {url: u, rev: r, dir: d}}, inputs: {x: 1}, env: {E: f}}]",
    "{}\n---\nrun: [{name: a, step: {oci: {registry: r, repository: p, tag: t}}}]",
)
WRONG = (
    "spek: {}\n---\nexec: {command: [a]}",
    "spec: {inputs: {a: {}}}\n---\nexec: {command: [a]}",
    "spec: {inputs: {a-b: {type: string}}}\n---\nexec: {command: [a]}",
    "spec: {inputs: {a: {type: number, default: '1'}}}\n---\nexec: {command: [a]}",
    "spec: {outputs: other}\n---\nexec: {command: [a]}",
    "{}\n---\n{}",
    "{}\n---\nexec: {command: []}",
    "{}\n---\nexec: {command: [1]}",
    "{}\n---\n{exec: {command: [a]}, run: [{name: a, script: b}]}",
    "{}\n---\n{exec: {command: [a]}, outputs: {}}",
    "{}\n---\nrun: []",
    "{}\n---\nrun: [{name: a}]",
    "{}\n---\nrun: [{script: b}]",
    "{}\n---\nrun: [{name: a, script: b, inputs: {}}]",
    "{}\n---\nrun: [{name: a, script: b, step: c}]",
    "{}\n---\nrun: [{name: a, step: {git: {url: u}}}]",
    "{}\n---\nrun: [{name: a, script: b, env: {E: 1}}]",
    "{}\n---\nrun: [{name: a, action: b/c@v1}]",
)


def faults(text: str) -> list[str]:
    """What the schema says of a file: its first document is a header, its second one a step."""
    documents: list[Any] = list(yaml.safe_load_all(text))
    found = []
    for name, document in zip(("header", "step"), documents, strict=True):
        schema = {**SCHEMA, "anyOf": [{"$ref": f"#/$defs/{name}"}]}
        found += [error.message for error in jsonschema.Draft202012Validator(schema).iter_errors(document)]
    return found


def test_it_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("text", [*RIGHT, *(path.read_text() for path in EXAMPLES)])
def test_what_is_right(text: str) -> None:
    read_definition(text, "step.yml")
    assert faults(text) == []


@pytest.mark.parametrize("text", WRONG)
def test_what_is_wrong(text: str) -> None:
    with pytest.raises(ConfigInvalid):
        read_definition(text, "step.yml")
    assert faults(text)
