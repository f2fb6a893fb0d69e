"""Jobs in few bytes: a pipeline of 10,000 jobs crosses Temporal in pages, as lists instead of objects.

A packed job is the list of its fields in a fixed order; what is as by default at the end is left out.
"""

from collections.abc import Iterable
from dataclasses import MISSING, fields
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, TypeAlias

from domain.config.plan import RetryPolicy, When
from domain.pipelines.pipeline import NO_RETRY, Job
from domain.pipelines.status import Status

Packed: TypeAlias = list[Any]
"""A job as a list of plain JSON values."""

_ORDER: Final = (
    "id name stage status when needs allow_failure attempt retry enqueue start_in due_at auto_retry interruptible"
    " bridge grouped slot follows room"
).split()
_DEFAULTS: Final = {field.name: None if field.default is MISSING else field.default for field in fields(Job)}


def pack(job: Job) -> Packed:
    """The fields of a job; the shortest list from which `unpack` makes it again."""
    values = [_plain(getattr(job, name)) for name in _ORDER]
    defaults = [_plain(_DEFAULTS[name]) for name in _ORDER]
    length = len(values)
    while values[length - 1] == defaults[length - 1]:
        length -= 1
    return values[:length]


def unpack(packed: Iterable[Any]) -> Job:
    """The job of a packed list."""
    given = dict(zip(_ORDER, packed, strict=False))
    return Job(**{name: _read(name, value) for name, value in given.items()})


def _plain(value: Any) -> Any:
    if isinstance(value, RetryPolicy):
        return 0 if value == NO_RETRY else [value.max, list(value.when), list(value.exit_codes)]
    if isinstance(value, StrEnum):
        return str(value)
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bool):
        return int(value)
    return list(value) if isinstance(value, tuple) else value


def _read(name: str, value: Any) -> Any:
    match name:
        case "status":
            return Status(value)
        case "when":
            return When(value)
        case "needs":
            return None if value is None else tuple(value)
        case "retry":
            return RetryPolicy(value[0], tuple(value[1]), tuple(value[2])) if value else NO_RETRY
        case "due_at":
            return None if value is None else datetime.fromisoformat(value)
    return bool(value) if isinstance(_DEFAULTS[name], bool) else value
