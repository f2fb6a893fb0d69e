"""What a step gets for its inputs, and what it gave for its outputs.

Source: docs/reference/steps.md, "Running a step".
"""

from collections.abc import Mapping

from domain.config.reading.spelling import nearest
from domain.errors import Invalid
from domain.moa.values import Value
from domain.steps.definition import Parameter
from domain.steps.rendering import Known
from domain.steps.values import check_value, is_of, shown, type_of


def bound_inputs(declared: Mapping[str, Parameter], given: Mapping[str, Known]) -> dict[str, Known]:
    """The inputs of a step by name, defaults among them. Raises `Invalid` that names the input."""
    _check_known(declared, given, "input", "inputs")
    found = {}
    for name, parameter in declared.items():
        if name in given:
            found[name] = _checked(f"input {name}", given[name], parameter)
        elif parameter.has_default:
            found[name] = Known(parameter.default, parameter.is_sensitive)
        else:
            raise Invalid(f"input {name} is missing: it has no default")
    return found


def bound_outputs(declared: Mapping[str, Parameter], given: Mapping[str, Value]) -> dict[str, Known]:
    """The outputs of a step that has succeeded, likewise."""
    _check_known(declared, given, "output", "outputs")
    found = {}
    for name, parameter in declared.items():
        if name in given:
            found[name] = _checked(f"output {name}", Known(given[name], parameter.is_sensitive), parameter)
        elif parameter.has_default:
            found[name] = Known(parameter.default, parameter.is_sensitive)
        else:
            raise Invalid(f"output {name} is missing: the step did not write it, and it has no default")
    return found


def passed_outputs(declared: Mapping[str, Parameter], given: Mapping[str, Known]) -> dict[str, Known]:
    """The outputs of a sequence by its expressions: what is sensitive must not come out as something that is not."""
    for name, known in given.items():
        if name in declared and known.is_sensitive and not declared[name].is_sensitive:
            raise Invalid(f"output {name} gets a sensitive value, and is not declared `sensitive: true`")
    return bound_outputs(declared, {name: known.value for name, known in given.items()})


def _check_known(declared: Mapping[str, Parameter], given: Mapping[str, object], one: str, many: str) -> None:
    unknown = [name for name in given if name not in declared]
    if unknown:
        there = ", ".join(declared) or "none"
        raise Invalid(f"there is no {one} {unknown[0]}{nearest(unknown[:1], list(declared))}; {many}: {there}")


def _checked(what: str, known: Known, parameter: Parameter) -> Known:
    check_value(what, known.value)
    if not is_of(known.value, parameter.type):
        is_sensitive = known.is_sensitive or parameter.is_sensitive
        value = "" if known.value is None else f" ({shown(known.value, is_sensitive=is_sensitive)})"
        raise Invalid(f"{what} is of type {parameter.type}, and got a value of type {type_of(known.value)}{value}")
    if known.is_sensitive and not parameter.is_sensitive:
        raise Invalid(f"{what} gets a sensitive value, and is not declared `sensitive: true`")
    return Known(known.value, parameter.is_sensitive)
