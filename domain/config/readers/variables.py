"""`variables`, at the top and in a job. Source: docs/reference/ci-yaml.md, "Global keywords", "Job keywords"."""

from collections.abc import Mapping
from typing import Final

from domain.config.plan import Prefill, Variable
from domain.config.reading import checks
from domain.config.reading.field import Field
from domain.config.reading.tree import Items, Map, Value

TOP_KEYS: Final = frozenset({"value", "description", "options", "expand"})
"""Keys of a variable at the top; `description` and `options` fill the form that starts a pipeline by hand."""
PREFILL_KEYS: Final = frozenset({"description", "options"})
"""Those of them that are for the form."""
JOB_KEYS: Final = frozenset({"value", "expand"})
"""Keys of a variable in a job."""


def read_variables(field: Field, keys: frozenset[str]) -> Mapping[str, Variable] | None:
    """Variables by name; each is a scalar or, where there are `keys`, a mapping with some of them."""
    if not isinstance(field.value, Map):
        field.fault("should be a hash")
        return None
    found = {name: _variable(field.entry(name), keys) for name in field.value}
    return {name: variable for name, variable in found.items() if variable is not None}


def prefill(value: Value) -> Mapping[str, Prefill]:
    """What the global variables say for the form that starts a pipeline by hand."""
    described = value.items() if isinstance(value, Map) else ()
    return {name: _prefill(one) for name, one in described if isinstance(one, Map) and one.keys() & PREFILL_KEYS}


def scalar_text(value: Value) -> str | None:
    """The text of a scalar as GitLab writes it into an environment; None for null and for containers."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else None


def _variable(field: Field, keys: frozenset[str]) -> Variable | None:
    if isinstance(field.value, Map) and keys:
        return _detailed(field, field.value, keys)
    value = "" if field.value is None else scalar_text(field.value)
    if value is None:
        field.issues.add(
            f"{field.path} variable definition must be either a string{' or a hash' if keys else ''}",
            field.path,
            field.place,
        )
        return None
    return Variable(value)


def _detailed(field: Field, config: Map, keys: frozenset[str]) -> Variable | None:
    unknown = [key for key in config if key not in keys]
    if unknown:
        field.fault(f"uses invalid data keys: {', '.join(unknown)}")
    value = scalar_text(config["value"]) if field.given("value") else ""
    if value is None:
        field.attribute("value").fault("must be an alphanumeric string")
    if "description" in keys and field.given("description"):
        checks.text(field.attribute("description"))
    if "options" in keys and field.given("options"):
        _check_options(field, config)
    expand = checks.boolean(field.attribute("expand")) if field.given("expand") else True
    return Variable(value or "", raw=expand is False)


def _prefill(config: Map) -> Prefill:
    description, options = config.get("description"), config.get("options")
    return Prefill(
        description if isinstance(description, str) else "",
        tuple(option for option in options if isinstance(option, str)) if isinstance(options, Items) else (),
    )


def _check_options(field: Field, config: Map) -> None:
    options = config["options"]
    if checks.strings(field.attribute("options")) is None or not isinstance(options, Items):
        return
    if options and config.get("value") not in options:
        field.fault("value must be present in options")
