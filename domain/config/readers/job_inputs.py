"""`inputs` of a job: values that may be set when it is played or retried.

Source: docs/reference/ci-yaml.md, "Inputs", "Job keywords", "Limits".
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from domain.config.inputs.input_entry import read_input
from domain.config.inputs.input_spec import JOB_INPUT, InputSpec
from domain.config.plan import Document
from domain.config.reading.documents import plain
from domain.config.reading.field import Field
from domain.config.reading.tree import Map
from domain.config.rules.patterns import Patterns

MAX_INPUTS: Final = 50
"""Inputs of one job."""


def read_job_inputs(field: Field, patterns: Patterns | None = None) -> Mapping[str, Document] | None:
    """Every input as plain JSON: `type` and `default`, and of `options`, `regex` and `description` what is given.

    `patterns` are those of the whole configuration, whose limits all its jobs share.
    """
    if not isinstance(field.value, Map):
        field.fault("should be a hash")
        return None
    job = field.path.removesuffix(":inputs")
    if len(field.value) > MAX_INPUTS:
        text = f"{job} inputs has too many entries (maximum {MAX_INPUTS})"
        field.issues.add(text, field.path, field.place)
        return None
    before = len(field.issues)
    shared = patterns or Patterns()
    found = {name: _read(field.entry(name), name, f"{job} inputs `{name}`:", shared) for name in field.value}
    return found if len(field.issues) == before else None


def _read(field: Field, name: str, label: str, patterns: Patterns) -> Document:
    before = len(field.issues)
    spec = read_input(field, name, JOB_INPUT, label, patterns)
    if not field.given("default") and len(field.issues) == before:
        field.issues.add(f"{field.path} must have a default value", field.path, field.place)
    return _document(spec, field)


def _document(spec: InputSpec, field: Field) -> Document:
    fields: dict[str, Any] = {"type": spec.type.value, "default": plain(replace(field, value=spec.default))}
    if spec.options is not None:
        fields["options"] = [plain(replace(field, value=option)) for option in spec.options]
    if spec.pattern:
        fields["regex"] = spec.pattern.text
    if spec.description:
        fields["description"] = spec.description
    return fields
