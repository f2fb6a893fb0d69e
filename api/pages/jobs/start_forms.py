"""What a form gives a job that is started or repeated: variables, inputs, the step to begin at, a yes."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from fastapi import Request

from api.deps import ServicesDep
from api.v4.parameters import parameters
from domain.errors import Invalid
from domain.pipelines.operation_input import MAX_STEP
from domain.variables.ci_variables import KEY
from models.rows.pipelines import JobRow

YES: Final = "yes"
MAX_VARIABLES: Final = 200
"""Variables of one form."""


@dataclass(frozen=True, slots=True)
class StartForm:
    """A form as it was sent. Names of variables that are left empty are rows that nobody filled in."""

    variables: Mapping[str, str] = field(default_factory=dict)
    inputs: Mapping[str, str] = field(default_factory=dict)
    from_step: str = ""
    is_confirmed: bool = False


@dataclass(frozen=True, slots=True)
class InputField:
    """An input of a job as a field: what it is now, and what may be chosen."""

    name: str
    type: str
    value: str
    description: str
    options: Sequence[str]


async def sent(request: Request, services: ServicesDep) -> StartForm:
    """The form that somebody sent. Raises `Invalid`, `TooLarge`."""
    values = await parameters(request, services.settings.sizes.json_bytes)
    keys, texts = (_texts(values.get(name)) for name in ("keys", "values"))
    inputs = values.get("inputs")
    return StartForm(
        variables=_variables(keys, texts),
        inputs={name: str(text) for name, text in inputs.items()} if isinstance(inputs, dict) else {},
        from_step=_step(values.get("from_step")),
        is_confirmed=values.get("confirmed") == YES,
    )


def _variables(keys: Sequence[str], texts: Sequence[str]) -> dict[str, str]:
    rows = [(key.strip(), text) for key, text in zip(keys, texts, strict=False) if key.strip()]
    if len(rows) > MAX_VARIABLES:
        raise Invalid(f"The form has {len(rows)} variables; a job is given at most {MAX_VARIABLES}.")
    for key, _ in rows:
        if not KEY.fullmatch(key):
            raise Invalid(f"The variable {key[:100]!r} has no fit name: use letters, digits and '_', 255 at most.")
    return dict(rows)


def _step(value: Any) -> str:
    step = value if isinstance(value, str) else ""
    if len(step) > MAX_STEP:
        raise Invalid(f"A step has a name of at most {MAX_STEP} characters.")
    return step


def _texts(value: Any) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else []


def input_fields(job: JobRow) -> Sequence[InputField]:
    """The inputs of a job with what it was given last, or their defaults."""
    given = job.inputs or {}
    return [
        InputField(
            name,
            declared["type"],
            text_of(given.get(name, declared["default"])),
            declared.get("description", ""),
            [text_of(option) for option in declared.get("options", ())],
        )
        for name, declared in job.plan.get("inputs", {}).items()
    ]


def changed_inputs(job: JobRow, sent_inputs: Mapping[str, str]) -> Mapping[str, str]:
    """Those of a form that are not as they were."""
    known = {field.name: field.value for field in input_fields(job)}
    return {name: text for name, text in sent_inputs.items() if known.get(name) != text}


def text_of(value: Any) -> str:
    """A value in a field: text as it is, all else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
