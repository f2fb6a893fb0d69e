"""The values of a file's inputs: those that are given, checked, and defaults for the others.

Source: docs/reference/ci-yaml.md, "Inputs", "Limits".
"""

from collections.abc import Mapping
from typing import Any, Final

from domain.config.inputs.header import Header
from domain.config.inputs.input_spec import InputRule, InputSpec
from domain.config.reading.issues import Issues
from domain.config.reading.spelling import nearest
from domain.config.reading.tree import Map, Place, Value
from domain.errors import Invalid

MAX_PIPELINE_INPUTS: Final = 20
"""Values that may be given when a pipeline is started."""


def check_pipeline_inputs(given: Mapping[str, Any], issues: Issues) -> None:
    """Note it if a pipeline is given too many values for the inputs of its main file."""
    if len(given) > MAX_PIPELINE_INPUTS:
        issues.add(
            f"too many inputs: a pipeline takes at most {MAX_PIPELINE_INPUTS}, and {len(given)} were given",
            "inputs",
            Place(1, 1),
        )


def input_values(
    header: Header | None, given: Mapping[str, Any], issues: Issues, place: Place, what: str
) -> Mapping[str, Value]:
    """The value of every declared input: the given one, else the default.

    `given` are values of the configuration or plain JSON; null is as good as nothing. `place` is where they are given
    (the item of `include`, for the main file its header), and `what` names the file in messages, empty for the main
    one. Everything that is wrong is noted; the input has the value null then, and the file is of no use.
    """
    told = _Told(issues, place, f"{what}: " if what else "")
    supplied = {name: value for name, value in given.items() if value is not None}
    if header is None:
        if given:
            told.note("Given inputs not defined in the `spec` section of the included configuration file", "", place)
        return {}
    values: dict[str, Value] = {}
    for name, spec in header.inputs.items():
        at = given.places.get(name, place) if isinstance(given, Map) else place
        values[name] = _value(spec, supplied, values, told, at) if spec.sound else None
    unknown = [name for name in given if name not in header.inputs]
    if unknown:
        at = given.places[unknown[0]] if isinstance(given, Map) else place
        told.note(f"unknown input arguments: {', '.join(unknown)}{nearest(unknown, header.inputs)}", "", at)
    return values


class _Told:
    """Notes issues about the inputs of one file."""

    def __init__(self, issues: Issues, place: Place, start: str) -> None:
        self._issues = issues
        self._start = start
        self.place = place

    def note(self, text: str, name: str, place: Place) -> None:
        """`name` is the input's, empty for all."""
        path = f"inputs:{name}" if name else "inputs"
        self._issues.add(f"{self._start}{text}", path, place if place.line else self.place)


def _value(
    spec: InputSpec, supplied: Mapping[str, Any], values: Mapping[str, Value], told: _Told, place: Place
) -> Value:
    """The value of one input; `values` are those of the inputs that are declared before it."""
    value = supplied.get(spec.name)
    if value is None and spec.required:
        text = "required value has not been provided"
        told.note(f"`{spec.name}` input: {text}; give it a value or a `default`", spec.name, told.place)
        return None
    try:
        rule = rule_in_force(spec, supplied, values)
        options, default = (rule.options, rule.default) if rule else (spec.options, spec.default)
        if value is None or (value == "" and spec.rules):
            if rule and rule.fault:
                raise Invalid(rule.fault)
            return default
        return spec.checked(value, options, "provided", place)
    except Invalid as error:
        told.note(f"`{spec.name}` input: {error}", spec.name, place)
        return None


def in_force(
    spec: InputSpec, supplied: Mapping[str, Any], values: Mapping[str, Value]
) -> tuple[tuple[Value, ...] | None, Value]:
    """Options and default: those of the rule in force, else the input's own. Raises `Invalid`."""
    rule = rule_in_force(spec, supplied, values)
    return (rule.options, rule.default) if rule else (spec.options, spec.default)


def rule_in_force(spec: InputSpec, supplied: Mapping[str, Any], values: Mapping[str, Value]) -> InputRule | None:
    """The first rule whose condition holds.

    `values` are those of the inputs declared before, `supplied` what is given. Raises `Invalid`.
    """
    for rule in spec.rules:
        if rule.condition is None or rule.condition.holds(lambda name: values.get(name, supplied.get(name))):
            return rule
    return None
