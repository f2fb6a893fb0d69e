"""What the form asks for is what the file declares, with values that show what else it holds."""

import pytest

from domain.config.form import FormField, input_fields, variable_fields
from tests.domain.config.short_texts import plan

HEADER = """
spec:
  inputs:
    target: {options: [staging, production], description: Where to}
    debug: {type: boolean, default: false}
    count: {type: number}
    names: {type: array}
    note: {default: ""}
---
build: {script: x}
"""


def test_inputs_are_fields_and_have_placeholders_where_a_value_is_required() -> None:
    fields, values = input_fields(HEADER, ".gitlab-ci.yml")
    assert fields == (
        FormField("target", description="Where to", options=("staging", "production"), required=True),
        FormField("debug", "false", options=("true", "false")),
        FormField("count", required=True),
        FormField("names", required=True),
        FormField("note"),
    )
    assert values == {"target": "staging", "debug": None, "count": 0, "names": [], "note": None}


@pytest.mark.parametrize("text", ["build: {script: x}\n", "spec: [\n---\nbuild: {script: x}\n"])
def test_a_file_without_a_good_header_has_none(text: str) -> None:
    assert input_fields(text, ".gitlab-ci.yml") == ((), {})


def test_variables_are_fields_when_they_are_described() -> None:
    made = plan(
        "variables:\n  PLAIN: a\n  TOLD: {value: b, description: Say it}\n"
        "  CHOSEN: {value: c, options: [c, d]}\nbuild: {script: x}\n"
    )
    assert variable_fields(made) == (FormField("TOLD", "b", "Say it"), FormField("CHOSEN", "c", options=("c", "d")))
