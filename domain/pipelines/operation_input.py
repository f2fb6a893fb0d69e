"""What people write when they ask for an operation by hand, read into an `Operation`.

Only shapes are looked at: whether the state permits the operation is the workflow's to say.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from domain.errors import Invalid
from domain.messages import Operation

MAX_KEY: Final = 255
"""Characters of a key; Temporal takes no longer update id."""
MAX_REASON: Final = 1_000
"""Characters of a reason."""
MAX_STEP: Final = 255
"""Characters of the name of a step."""
MAX_VARIABLES: Final = 32 * 1024
"""Characters of all variables together, names and values."""

BY_PEOPLE: Final = ("cancel_pipeline", "retry_pipeline", "cancel_job", "retry_job", "play_job", "unschedule_job")
"""What people ask for; everything else is sent by Perdure itself."""

_WRITE_DO: Final = 'Write "do": {"name": "retry_pipeline"} or "do": {"name": "retry_job", "job_id": 42}.'
_FIELDS: Final = ("key", "job_id", "variables", "reason", "from_step")
_OF_A_JOB: Final = frozenset(
    {"cancel_job", "retry_job", "play_job", "unschedule_job", "mirror_downstream", "revive_bridge", "resource_granted"}
)
_WITH_VARIABLES: Final = frozenset({"play_job"})
_WITH_STEP: Final = frozenset({"retry_job"})
_NOTHING: Final[tuple[Any, ...]] = (None, "", {})
"""What counts as not given."""


def read_operation(name: str, given: Sequence[Any]) -> Operation:
    """The operation `name` from its arguments as decoded from JSON: one object, or nothing at all.

    Raises `Invalid` with what is wrong and what to write instead.
    """
    if len(given) > 1:
        raise Invalid(f"{name} takes one object, not {len(given)}. {_write(name)}")
    fields = given[0] if given and given[0] not in _NOTHING else {}
    if not isinstance(fields, Mapping):
        raise Invalid(f"{name} takes an object, not {_shown(fields)}. {_write(name)}")
    unknown = [str(field) for field in fields if field not in _FIELDS]
    if unknown:
        names = ", ".join(unknown)[:200]
        raise Invalid(f"{name} does not know {names}; it knows {', '.join(_FIELDS)}. {_write(name)}")
    values = {field: _READERS[field](name, value) for field, value in fields.items() if value not in _NOTHING}
    operation = Operation(**values)
    _check_job(name, operation)
    if operation.variables and name not in _WITH_VARIABLES:
        raise Invalid(f"{name} takes no variables; only play_job does. {_write(name)}")
    if operation.from_step and name not in _WITH_STEP:
        raise Invalid(f"{name} takes no from_step; only retry_job does. {_write(name)}")
    return operation


def read_do(given: Any) -> tuple[str, Operation]:
    """The command that was given with the start of a workflow: its name, or an object that holds it as `name`.

    Raises `Invalid` with what is wrong and what to write instead.
    """
    fields = {"name": given} if isinstance(given, str) else given
    if not isinstance(fields, Mapping):
        raise Invalid(f"do takes an object, not {_shown(fields)}. {_WRITE_DO}")
    name = fields.get("name")
    if name not in BY_PEOPLE:
        what = "has no name" if name in _NOTHING else f"does not know {_shown(name)}"
        raise Invalid(f"do {what}; it knows {', '.join(BY_PEOPLE)}. {_WRITE_DO}")
    return str(name), read_operation(str(name), [{key: value for key, value in fields.items() if key != "name"}])


def _check_job(name: str, operation: Operation) -> None:
    if name in _OF_A_JOB and operation.job_id is None:
        raise Invalid(f"{name} needs the id of a job. {_write(name)}")
    if name not in _OF_A_JOB and operation.job_id is not None:
        instead = f", or use {name.split('_')[0]}_job" if name.endswith("_pipeline") else ""
        raise Invalid(f"{name} concerns the whole pipeline; leave job_id out{instead}.")


def _write(name: str) -> str:
    """The sentence that says what to write."""
    return 'Write {"job_id": 42}.' if name in _OF_A_JOB else 'Write {} or {"reason": "..."}.'


def _shown(value: Any) -> str:
    kinds = {str: "the text", list: "the list", bool: "the truth value", int: "the number", float: "the number"}
    return f"{kinds.get(type(value), 'the value')} {str(value)[:80]!r}"


def _job_id(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < 2**53:
        raise Invalid(f"{name}: job_id is the id of a job, a whole number, not {_shown(value)}. {_write(name)}")
    return value


def _text(field: str, longest: int) -> Callable[[str, Any], str]:
    def read(name: str, value: Any) -> str:
        if not isinstance(value, str):
            raise Invalid(f'{name}: {field} is a text, not {_shown(value)}. Write {{"{field}": "..."}}.')
        if len(value) > longest:
            raise Invalid(f"{name}: {field} has {len(value)} characters; {longest} are permitted.")
        return value

    return read


def _variables(name: str, value: Any) -> dict[str, str]:
    example = 'Write {"variables": {"NAME": "value"}}.'
    if not isinstance(value, Mapping):
        raise Invalid(f"{name}: variables are an object of names and texts, not {_shown(value)}. {example}")
    for key, text in value.items():
        if not key or not isinstance(text, str):
            raise Invalid(f"{name}: variable {str(key)[:80]!r} needs a name and a text as its value. {example}")
    size = sum(len(key) + len(text) for key, text in value.items())
    if size > MAX_VARIABLES:
        raise Invalid(f"{name}: the variables have {size} characters; {MAX_VARIABLES} are permitted.")
    return dict(value)


def _step(name: str, value: Any) -> str:
    """A step by its name, or by its number from 1, which may be written as one."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31:
        return str(value)
    return _text("from_step", MAX_STEP)(name, value)


_READERS: Final[Mapping[str, Callable[[str, Any], Any]]] = {
    "key": _text("key", MAX_KEY),
    "job_id": _job_id,
    "variables": _variables,
    "reason": _text("reason", MAX_REASON),
    "from_step": _step,
}
