"""What the form that starts a pipeline by hand asks for: the inputs of the main file, and described variables.

Source: docs/reference/ci-yaml.md, "Global keywords", "Inputs", "Variables".
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from domain.config.inputs.header import read_header
from domain.config.inputs.input_spec import InputSpec
from domain.config.inputs.input_types import InputType, text_of
from domain.config.inputs.inputs import in_force
from domain.config.plan import Plan
from domain.config.reading.issues import Issues
from domain.config.reading.source import read
from domain.config.reading.tree import Value
from domain.errors import ConfigInvalid, Invalid

_PLACEHOLDERS: Final[Mapping[InputType, Any]] = {
    InputType.STRING: "",
    InputType.NUMBER: 0,
    InputType.BOOLEAN: False,
    InputType.ARRAY: [],
}


MAX_SHOWN: Final = 64 * 1024
"""Characters of a default or an option that a form holds; a longer one is left to the configuration."""


@dataclass(frozen=True, slots=True)
class FormField:
    """One field. `options` are the values to choose from, none for any; `required` ones have no default.

    `type` is that of an input, `pattern` the regular expression that it has to match. A field that `decides` is one on
    which the options of others depend; one that `depends` has its options by the values of others.
    """

    name: str
    value: str = ""
    description: str = ""
    options: tuple[str, ...] = ()
    required: bool = False
    type: str = InputType.STRING.value
    pattern: str = ""
    decides: bool = False
    depends: bool = False


def input_fields(
    text: str, file: str, given: Mapping[str, Any] = MappingProxyType({})
) -> tuple[tuple[FormField, ...], dict[str, Any]]:
    """The inputs that a main file declares, and a value for each, good enough to see what else the file holds.

    Options and defaults that depend on other inputs are those for the values `given`. A file with a header that is
    wrong has none: whoever compiles it is told.
    """
    issues = Issues(file)
    try:
        header = read(text, issues).header
    except ConfigInvalid:
        return (), {}
    if header is None:
        return (), {}
    specs = read_header(header, issues).inputs
    deciding = {
        name for spec in specs.values() for rule in spec.rules if rule.condition for name in rule.condition.inputs
    }
    fields: list[FormField] = []
    known: dict[str, Any] = {}
    for name, spec in specs.items():
        options, default = _in_force(spec, given, known)
        known[name] = default if given.get(name) is None else given[name]
        fields.append(_field(spec, options, default, decides=name in deciding))
    return tuple(fields), {name: _placeholder(spec) for name, spec in specs.items()}


def _in_force(
    spec: InputSpec, given: Mapping[str, Any], known: Mapping[str, Any]
) -> tuple[tuple[Value, ...] | None, Value]:
    try:
        return in_force(spec, given, known)
    except Invalid:
        return spec.options, spec.default


def variable_fields(plan: Plan) -> tuple[FormField, ...]:
    """The global variables that have a description or options, with their values."""
    return tuple(
        FormField(name, plan.variables[name].value if name in plan.variables else "", one.description, one.options)
        for name, one in plan.prefill.items()
    )


def _field(spec: InputSpec, options: tuple[Value, ...] | None, default: Value, *, decides: bool) -> FormField:
    choices = tuple(map(_whole, options or ()))
    if not choices and spec.type is InputType.BOOLEAN:
        choices = ("true", "false")
    return FormField(
        name=spec.name,
        value="" if spec.required or default is None else _whole(default),
        description=spec.description,
        options=choices,
        required=spec.required,
        type=spec.type.value,
        pattern=spec.pattern.text if spec.pattern else "",
        decides=decides,
        depends=bool(spec.rules),
    )


def _whole(value: Value) -> str:
    """All of a value as text, since a form sends it back; empty for one that no form can hold."""
    return text_of(value, MAX_SHOWN) or ""


def _placeholder(spec: InputSpec) -> Any:
    if not spec.required:
        return None
    return spec.options[0] if spec.options else _PLACEHOLDERS[spec.type]
