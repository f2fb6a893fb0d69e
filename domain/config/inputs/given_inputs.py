"""Values that a person gives to the inputs of a job when they start it, checked against what the job declares.

The declarations are those that `domain.config.readers.job_inputs` has read: plain JSON.
Source: docs/reference/ci-yaml.md, "Inputs".
"""

import json
from collections.abc import Mapping
from typing import Any

from domain.config.inputs.input_spec import InputSpec
from domain.config.inputs.input_types import InputType, typed
from domain.config.reading.spelling import nearest
from domain.config.reading.tree import NOWHERE, Items, Map, Value
from domain.config.rules.patterns import Patterns
from domain.errors import Invalid


def given_inputs(declared: Mapping[str, Mapping[str, Any]], given: Mapping[str, Any]) -> Mapping[str, Any]:
    """The given values as their types want them, as JSON. Raises `Invalid` with the first that is wrong, and why."""
    unknown = [name for name in given if name not in declared]
    if unknown:
        known = f"it has {', '.join(declared)}" if declared else "it has none"
        raise Invalid(f"The job has no input `{unknown[0][:100]}`; {known}{nearest(unknown[:1], list(declared))}")
    patterns = Patterns()
    return {name: _checked(name, declared[name], value, patterns) for name, value in given.items()}


def _checked(name: str, declared: Mapping[str, Any], value: Any, patterns: Patterns) -> Any:
    spec = InputSpec(
        name,
        InputType(declared["type"]),
        pattern=patterns.of(declared["regex"]) if declared.get("regex") else None,
        patterns=patterns,
    )
    try:
        options = None
        if "options" in declared:
            options = tuple(typed(option, spec.type, NOWHERE) for option in declared["options"])
        return _plain(spec.checked(value, options, "provided", NOWHERE))
    except Invalid as error:
        raise Invalid(f"`{name}` input: {error}") from error


def _plain(value: Value) -> Any:
    # Lists and mappings of the configuration are lists and mappings, whose places JSON leaves out.
    return json.loads(json.dumps(value)) if isinstance(value, Map | Items) else value
