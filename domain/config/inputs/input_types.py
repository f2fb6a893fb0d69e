"""Values of inputs: what each type takes, and how a value becomes text. Source: docs/reference/ci-yaml.md, "Inputs"."""

import json
from enum import StrEnum
from math import isfinite
from typing import Any, Final

from domain.config.reading.budget import DEPTH, NODES
from domain.config.reading.tree import Items, Map, Place, Value
from domain.errors import Invalid

MAX_NUMBER: Final = 10**100
"""Whole numbers stay below it, as those that are written in YAML do."""


class InputType(StrEnum):
    """What kind of value an input takes."""

    STRING = "string"
    NUMBER = "number"
    BOOLEAN = "boolean"
    ARRAY = "array"


ARTICLES: Final = {
    InputType.STRING: "a string",
    InputType.NUMBER: "a number",
    InputType.BOOLEAN: "a boolean",
    InputType.ARRAY: "an array",
}
"""The types as messages name them."""


def typed(value: Any, kind: InputType, place: Place) -> Value:
    """A given value, or a default, as the type wants it; raises `Invalid` if it is of another type.

    `value` is a value of the configuration or plain JSON. A string may take the place of a number, a boolean or an
    array as JSON text, and each scalar that of a string. Mappings and lists that were JSON get `place`.
    """
    if kind is InputType.STRING:
        if isinstance(value, dict | list):
            raise Invalid(f"is not {ARTICLES[kind]}")
        return scalar_text(_checked(value))
    found = as_value(_decoded(value), place)
    if not _PERMITTED[kind](found):
        raise Invalid(f"is not {ARTICLES[kind]}")
    return found


def scalar_text(value: Value) -> str:
    """A scalar as text, as GitLab writes it: null is empty."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def text_of(value: Value, limit: int) -> str | None:
    """Any value as text, mappings and lists as JSON; None if it would have more than `limit` characters.

    A list may hold one long text many times over, so its length is estimated before it is written.
    """
    if isinstance(value, Map | Items):
        if _least_length(value, {}) > limit:
            return None
        text = json.dumps(value, ensure_ascii=False)
    else:
        text = scalar_text(value)
    return text if len(text) <= limit else None


def _least_length(value: Value, known: dict[int, int]) -> int:
    """A lower bound for the characters of JSON; `known` are those of containers, by identity."""
    if isinstance(value, str):
        return len(value) + 2
    if not isinstance(value, Map | Items):
        return 1
    if id(value) not in known:
        parts = (*value.keys(), *value.values()) if isinstance(value, Map) else tuple(value)
        known[id(value)] = 2 + sum(_least_length(part, known) for part in parts)
    return known[id(value)]


def same(one: Value, other: Value) -> bool:
    """Whether two values are equal; true is not 1."""
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def as_value(value: Any, place: Place) -> Value:
    """Plain JSON as a value of the configuration, in which everything stands at `place`.

    Mappings and lists that are such values already are returned as they are. Raises `Invalid` for what is no JSON, for
    text that is no Unicode, and for what is nested too deep or too large.
    """
    return _Reader(place).read(value, DEPTH)


class _Reader:
    """Converts one value and counts its parts."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._left = NODES

    def read(self, value: Any, levels: int) -> Value:
        """The value, if it has at most so many levels of mappings and lists."""
        if isinstance(value, Map | Items):
            return value
        self._left -= 1
        if self._left < 0:
            raise Invalid(f"has more than {NODES:,} values")
        if isinstance(value, dict | list | tuple):
            if levels == 0:
                raise Invalid(f"is nested deeper than {DEPTH} levels")
            return self._map(value, levels) if isinstance(value, dict) else self._items(value, levels)
        return _checked(value)

    def _map(self, value: dict[Any, Any], levels: int) -> Map:
        result = Map(self._place)
        for key, element in value.items():
            result.put(scalar_text(_checked(key)), self.read(element, levels - 1), self._place)
        return result

    def _items(self, value: list[Any] | tuple[Any, ...], levels: int) -> Items:
        return Items(self._place, ((self.read(element, levels - 1), self._place) for element in value))


def _checked(value: Any) -> Value:
    """A scalar that a configuration may hold; raises `Invalid` for any other."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise Invalid("holds characters that are not valid Unicode") from error
        return value
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and abs(value) < MAX_NUMBER:
        return value
    if isinstance(value, float):
        return value
    if isinstance(value, int):
        raise Invalid("has too many digits")
    raise Invalid("is neither text nor a number, a boolean, an array or null")


def _decoded(value: Any) -> Any:
    """The JSON in a text; the text itself if it is none."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return value


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


_PERMITTED: Final = {
    InputType.NUMBER: lambda value: isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value),
    InputType.BOOLEAN: lambda value: isinstance(value, bool),
    InputType.ARRAY: lambda value: isinstance(value, Items),
}
