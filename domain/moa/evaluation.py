"""What the parts of Moa become: functions of the values that names have where the expression is evaluated."""

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import TypeAlias

from domain.errors import Invalid
from domain.moa.values import Value, item_of, joined, signed, text_of

Context: TypeAlias = Mapping[str, Value]
"""The names that an expression may use."""
Expression: TypeAlias = Callable[[Context], Value]
"""An expression that is right; evaluating it raises `Invalid` for what the values do not permit."""


def constant(value: Value) -> Expression:
    """A value that is written there."""
    return lambda _: value


def text(parts: Sequence[Expression]) -> Expression:
    """Texts and expressions, one behind the other."""
    return lambda context: "".join(text_of(part(context)) for part in parts)


def with_sign(operator: str, operand: Expression) -> Expression:
    """A value behind `+`, `-` or `!`."""
    return lambda context: signed(operator, operand(context))


def item(value: Expression, keys: Sequence[Expression]) -> Expression:
    """A field of a field, an element of an element."""
    return lambda context: reduce(item_of, (key(context) for key in keys), value(context))


def chain(first: Expression, rest: Sequence[tuple[str, Expression]]) -> Expression:
    """Operators of one strength, from the left. `&&` and `||` give an operand, and look at the right one if need be."""

    def evaluate(context: Context) -> Value:
        value = first(context)
        for operator, operand in rest:
            if operator == "&&":
                value = value and operand(context)
            elif operator == "||":
                value = value or operand(context)
            else:
                value = joined(operator, value, operand(context))
        return value

    return evaluate


def array(parts: Sequence[Expression]) -> Expression:
    """A list that is written there."""
    return lambda context: [part(context) for part in parts]


def mapping(pairs: Sequence[tuple[Expression, Expression]]) -> Expression:
    """An object that is written there; its keys may be expressions."""

    def evaluate(context: Context) -> Value:
        found = {}
        for key, value in pairs:
            name = key(context)
            if not isinstance(name, str):
                raise Invalid(f"the key {text_of(name)} of an object is no text")
            found[name] = value(context)
        return found

    return evaluate
