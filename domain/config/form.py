"""What the form that starts a pipeline by hand asks for: the inputs of the main file, and described variables.

Source: docs/reference/ci-yaml.md, "Global keywords", "Inputs", "Variables".
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from domain.config.inputs.header import read_header
from domain.config.inputs.input_spec import InputSpec, shown
from domain.config.inputs.input_types import InputType
from domain.config.plan import Plan
from domain.config.reading.issues import Issues
from domain.config.reading.source import read
from domain.errors import ConfigInvalid

_PLACEHOLDERS: Final[Mapping[InputType, Any]] = {
    InputType.STRING: "",
    InputType.NUMBER: 0,
    InputType.BOOLEAN: False,
    InputType.ARRAY: [],
}


@dataclass(frozen=True, slots=True)
class FormField:
    """One field. `options` are the values to choose from, none for any; `required` ones have no default."""

    name: str
    value: str = ""
    description: str = ""
    options: tuple[str, ...] = ()
    required: bool = False


def input_fields(text: str, file: str) -> tuple[tuple[FormField, ...], dict[str, Any]]:
    """The inputs that a main file declares, and a value for each, good enough to see what else the file holds.

    A file with a header that is wrong has none: whoever compiles it is told.
    """
    issues = Issues(file)
    try:
        header = read(text, issues).header
    except ConfigInvalid:
        return (), {}
    if header is None:
        return (), {}
    specs = read_header(header, issues).inputs
    return tuple(map(_field, specs.values())), {name: _placeholder(spec) for name, spec in specs.items()}


def variable_fields(plan: Plan) -> tuple[FormField, ...]:
    """The global variables that have a description or options, with their values."""
    return tuple(
        FormField(name, plan.variables[name].value if name in plan.variables else "", one.description, one.options)
        for name, one in plan.prefill.items()
    )


def _field(spec: InputSpec) -> FormField:
    options = tuple(map(shown, spec.options or ()))
    if not options and spec.type is InputType.BOOLEAN:
        options = ("true", "false")
    value = "" if spec.required or spec.default is None else shown(spec.default)
    return FormField(spec.name, value, spec.description, options, spec.required)


def _placeholder(spec: InputSpec) -> Any:
    if not spec.required:
        return None
    return spec.options[0] if spec.options else _PLACEHOLDERS[spec.type]
