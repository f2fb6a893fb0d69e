"""Values of Moa and what can be done with them. Source: docs/reference/steps.md, "Moa expressions".

A value is what JSON has. Nothing is converted by itself: `"a" + 1` is an error, and `1 == "1"` is false.
"""

import json
import math
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from operator import add, ge, gt, le, lt, mul, sub
from typing import Any, Final, TypeAlias

from domain.errors import Invalid

Value: TypeAlias = Any
"""None, a bool, a number, a text, a list of values, or a mapping of texts to values."""

_NUMBER: Final = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?", re.ASCII)


def text_of(value: Value) -> str:
    """The value as text: numbers without an exponent, lists and objects as compact JSON."""
    if isinstance(value, str):
        return value
    if value is None:
        return "<null>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if _is_number(value):
        return format(Decimal(repr(_whole(value))), "f")
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def joined(operator: str, left: Value, right: Value) -> Value:
    """The result of `+ - * / %` and the comparisons. Raises `Invalid` for operands that cannot be joined."""
    if operator in _COMPARISONS:
        return _COMPARISONS[operator](_order(left), _order(right))
    if operator == "+" and isinstance(left, str) and isinstance(right, str):
        return left + right
    if not (_is_number(left) and _is_number(right)):
        raise Invalid(f"`{operator}` cannot join {_kind(left)} and {_kind(right)}; convert with str() or num()")
    if operator in "/%" and right == 0:
        raise Invalid(f"`{operator}` by zero")
    return _finite(_ARITHMETIC[operator](float(left), float(right)))


def signed(operator: str, value: Value) -> Value:
    """The value after `+`, `-` or `!`."""
    if operator == "!":
        return not value
    if not _is_number(value):
        raise Invalid(f"`{operator}` needs a number, not {_kind(value)}")
    return -value if operator == "-" else value


def item_of(value: Value, key: Value) -> Value:
    """A field of an object or an element of a list. Raises `Invalid` if there is none."""
    if isinstance(value, Mapping) and isinstance(key, str):
        if key in value:
            return value[key]
        raise Invalid(f"there is no `{key}`; there are: {', '.join(value) or 'none'}")
    if isinstance(value, list) and _is_number(key):
        if float(key).is_integer() and 0 <= key < len(value):
            return value[int(key)]
        raise Invalid(f"there is no element {text_of(key)}; the list has {len(value)}")
    raise Invalid(f"{_kind(value)} has no items by {_kind(key)}")


def number_of(value: Value) -> Value:
    """`num()`: the number that a text says."""
    if _is_number(value):
        return value
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        return _finite(float(value))
    raise Invalid(f"{text_of(value)!r} is no number")


FUNCTIONS: Final[Mapping[str, Callable[[Value], Value]]] = {"str": text_of, "num": number_of, "bool": bool}
"""Python's truth is Moa's: false are null, false, 0, and what is empty."""

_ARITHMETIC: Final[Mapping[str, Callable[[float, float], float]]] = {
    "+": add,
    "-": sub,
    "*": mul,
    "/": lambda left, right: left / right,
    "%": math.fmod,
}
_COMPARISONS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "==": lambda left, right: bool(left == right),
    "!=": lambda left, right: bool(left != right),
    "<": lt,
    "<=": le,
    ">": gt,
    ">=": ge,
}


def _order(value: Value) -> tuple[Any, ...]:
    """What values are compared by: first their type; texts by their UTF-8, objects by length, keys and values."""
    if value is None:
        return (0,)
    if isinstance(value, bool):
        return (1, value)
    if _is_number(value):
        return (2, value)
    if isinstance(value, str):
        return (3, value.encode("utf-8", "surrogatepass"))
    if isinstance(value, list):
        return (4, [_order(item) for item in value])
    keys = sorted(value)
    return (5, len(keys), [_order(key) for key in keys], [_order(value[key]) for key in keys])


def _is_number(value: Value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _finite(number: float) -> float:
    if not math.isfinite(number):
        raise Invalid("the number is too large")
    return _whole(number)


def _whole(number: float) -> float:
    """A whole number without a decimal point, also inside of lists and objects."""
    return int(number) if float(number).is_integer() else number


def _kind(value: Value) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if _is_number(value):
        return "a number"
    if isinstance(value, str):
        return "a text"
    return "a list" if isinstance(value, list) else "an object"
