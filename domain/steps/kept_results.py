"""The results of a job's steps as its runner hands them in: what a later attempt may begin behind.

They are an upload of a job, so anything may be in them; whoever uses them has them read here.

Source: docs/steps.md, "Again from a step".
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from domain.config.reading.key_names import is_name
from domain.errors import Invalid

MAX_FILE: Final = 4 * 1024 * 1024
"""Bytes of the results of one attempt."""
VERSION: Final = 1
MAX_DEPTH: Final = 64
"""Lists and objects inside each other; what a runner is told is written by a library that ends at 254."""
_MAX_WHOLE: Final = 2**63 - 1
"""The largest whole number that can be written for a runner."""
_TYPES: Final[Mapping[str, tuple[type, str]]] = {
    "name": (str, "a text"),
    "status": (str, "a text"),
    "is_kept": (bool, "a boolean"),
    "outputs": (dict, "an object"),
    "exports": (dict, "an object"),
}


@dataclass(frozen=True, slots=True)
class KeptStep:
    """A step that began. One that gave something sensitive is not kept: its outputs and exports are not there."""

    name: str
    status: str
    is_kept: bool
    outputs: Mapping[str, Any]
    exports: Mapping[str, str]


def read_kept(content: bytes) -> tuple[KeptStep, ...]:
    """The steps of a file, in its order. Raises `Invalid` with what is wrong, in words that quote nothing of it."""
    if len(content) > MAX_FILE:
        raise Invalid(f"the file has more than {MAX_FILE:,} bytes")
    try:
        document = json.loads(content.decode(), parse_constant=_no_constant)
        json.dumps(document, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        raise Invalid("the file is no JSON") from None
    if not isinstance(document, dict) or not isinstance(document.get("steps"), list):
        raise Invalid("the file is no object with a list of steps")
    if isinstance(document.get("version"), bool) or document.get("version") != VERSION:
        raise Invalid(f"the version of the file is not {VERSION}")
    steps = tuple(_step(entry, number) for number, entry in enumerate(document["steps"], start=1))
    if len({step.name for step in steps}) < len(steps):
        raise Invalid("two steps of the file have the same name")
    return steps


def _no_constant(_: str) -> NoReturn:
    """Python reads NaN and the infinities, which are no JSON."""
    raise ValueError


def _step(entry: Any, number: int) -> KeptStep:
    if not isinstance(entry, dict):
        raise Invalid(f"step {number} of the file is no object")
    for key, (kind, words) in _TYPES.items():
        if not isinstance(entry.get(key), kind):
            raise Invalid(f"`{key}` of step {number} of the file is not {words}")
    step = KeptStep(**{key: entry[key] for key in _TYPES})
    if not step.is_kept:
        return KeptStep(step.name, step.status, is_kept=False, outputs={}, exports={})
    if not all(is_name(name) and isinstance(text, str) and "\0" not in text for name, text in step.exports.items()):
        raise Invalid(f"`exports` of step {number} of the file are not texts by name")
    if not _is_writable(step.outputs, MAX_DEPTH):
        raise Invalid(f"`outputs` of step {number} of the file are too deep, or have too large a number")
    return step


def _is_writable(value: Any, depth: int) -> bool:
    """Whether a runner can be told a value; of texts and of other numbers that is known by now."""
    if isinstance(value, dict | list):
        items = value.values() if isinstance(value, dict) else value
        return depth > 0 and all(_is_writable(item, depth - 1) for item in items)
    return not isinstance(value, int) or -_MAX_WHOLE - 1 <= value <= _MAX_WHOLE
