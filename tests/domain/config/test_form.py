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
        FormField("debug", "false", options=("true", "false"), type="boolean"),
        FormField("count", required=True, type="number"),
        FormField("names", required=True, type="array"),
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


def test_a_default_is_whole_however_long_it_is_and_a_pattern_is_told() -> None:
    long = "x" * 300
    text = f"""
spec:
  inputs:
    note: {{default: {long}}}
    hosts: {{type: array, default: [{long}, b]}}
    tag: {{regex: '^v\\d+$'}}
---
build: {{script: x}}
"""
    (note, hosts, tag), _ = input_fields(text, "")
    assert note.value == long
    assert hosts.value == f'["{long}", "b"]'
    assert tag.pattern == r"^v\d+$"


RULED = """
spec:
  inputs:
    cloud: {options: [aws, gcp], default: aws}
    size:
      rules:
        - {if: '$[[ inputs.cloud ]] == "aws"', options: [t3, m5], default: t3}
        - {if: '$[[ inputs.cloud ]] == "gcp"', options: [e2, n2], default: e2}
---
build: {script: x}
"""


@pytest.mark.parametrize(
    ("given", "options", "value"),
    [({}, ("t3", "m5"), "t3"), ({"cloud": "gcp"}, ("e2", "n2"), "e2"), ({"cloud": "moon"}, (), "")],
)
def test_options_that_depend_on_another_input_follow_it(
    given: dict[str, str], options: tuple[str, ...], value: str
) -> None:
    (cloud, size), _ = input_fields(RULED, "", given)
    assert (cloud.decides, cloud.depends, size.decides, size.depends) == (True, False, False, True)
    assert (size.options, size.value) == (options, value)
