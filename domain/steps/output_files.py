"""What a step has written into its output file and its export file: a JSON object a line, with `name` and `value`.

Source: docs/reference/steps.md, "Output and export files".
"""

import json
from collections.abc import Mapping
from typing import Any, Final, NoReturn

from domain.config.reading.key_names import RULE, is_name
from domain.errors import Invalid
from domain.moa.values import Value, text_of
from domain.steps.values import check_value

MAX_FILE: Final = 1024 * 1024
"""Bytes of one of these files."""
_KEYS: Final = frozenset({"name", "value"})
_EXPORTED: Final = (str, bool, int, float)


def read_outputs(content: bytes) -> dict[str, Value]:
    """Outputs by name; the last line of a name counts. Raises `Invalid` that names the line."""
    found: dict[str, Value] = {}
    if len(content) > MAX_FILE:
        raise Invalid(f"the file has {len(content):,} bytes; at most {MAX_FILE:,} are read")
    for number, line in enumerate(content.split(b"\n"), start=1):
        if line.strip():
            name, value = _pair(line, number)
            found[name] = value
    return found


def read_exports(content: bytes) -> dict[str, str]:
    """Variables of the environment of later steps. Raises `Invalid`, also for a list or an object."""
    found = {}
    for name, value in read_outputs(content).items():
        if not isinstance(value, _EXPORTED):
            raise Invalid(f"{name}: a variable of the environment is a text, a number or a boolean")
        text = text_of(value)
        if "\0" in text:
            raise Invalid(f"{name}: a variable of the environment cannot have the character NUL")
        found[name] = text
    return found


def _pair(line: bytes, number: int) -> tuple[str, Value]:
    try:
        document = json.loads(line.decode(), object_pairs_hook=_object, parse_constant=_no_constant)
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise Invalid(f"line {number} is no JSON: {error}") from None
    if not isinstance(document, dict) or document.keys() != _KEYS:
        raise Invalid(f"line {number} is no object with `name` and `value` alone")
    name, value = document["name"], document["value"]
    if not isinstance(name, str) or not is_name(name):
        raise Invalid(f"line {number}: {text_of(name)!r} is no name; {RULE}")
    if value is None:
        raise Invalid(f"line {number}: `value` of {name} is null")
    check_value(f"line {number}: {name}", value)
    return name, value


def _object(pairs: list[tuple[str, Any]]) -> Mapping[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice in an object")
    return found


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number of JSON")
